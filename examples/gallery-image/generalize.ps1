# Generalises the build machine: sysprep takes out its names and users, and shuts it down.
$ErrorActionPreference = 'Stop'

# Logs of an earlier setup, which Microsoft's page on generalising a Windows machine has removed first.
Remove-Item -Recurse -Force "$env:SystemRoot\Panther" -ErrorAction SilentlyContinue
Start-Process -FilePath "$env:SystemRoot\System32\Sysprep\Sysprep.exe" `
    -ArgumentList '/generalize', '/oobe', '/mode:vm', '/shutdown', '/quiet'
Write-Output 'sysprep has begun'
