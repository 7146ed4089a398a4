# Installs Microsoft MPI 10.1.3 (June 2023, the newest) silently, unless it is there. Runs on the build machine.
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'  # a progress bar makes a download many times slower

if (Test-Path "$env:ProgramFiles\Microsoft MPI\Bin\mpiexec.exe") {
    Write-Output 'Microsoft MPI is there already'
    exit 0
}
$address = 'https://download.microsoft.com/download/7/2/7/72731ebb-b63c-4170-ade7-836966263a8f/msmpisetup.exe'
$installer = Join-Path $env:TEMP 'msmpisetup.exe'
Invoke-WebRequest -UseBasicParsing -Uri $address -OutFile $installer
# What wasn't signed by Microsoft isn't run.
$signature = Get-AuthenticodeSignature $installer
if ($signature.Status -ne 'Valid' -or $signature.SignerCertificate.Subject -notmatch 'O=Microsoft Corporation') {
    throw "the installer isn't signed by Microsoft: $($signature.Status)"
}
$ended = Start-Process -FilePath $installer -ArgumentList '-unattend', '-force' -Wait -PassThru
if ($ended.ExitCode -ne 0) {
    throw "the installer ended with exit code $($ended.ExitCode)"
}
Remove-Item $installer
if (-not (Test-Path "$env:ProgramFiles\Microsoft MPI\Bin\mpiexec.exe")) {
    throw 'the installer succeeded, and there is no mpiexec.exe'
}
Write-Output 'Microsoft MPI is installed'
