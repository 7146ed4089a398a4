"""Checks a machine's GPU driver: at every start by the machine itself, and once during an update.

cloud-init runs the first script at each start. It continues in the background, so that cloud-init ends: if the agent waits for
that before it runs extensions (`Extensions.WaitForCloudInit` of Azure/WALinuxAgent), the driver's extension would wait for a
check that waits for the driver. The script runs nvidia-smi until the GPUs answer, and writes them to a file; if they don't, the
file and the serial console say so. The second script waits for that file and makes the update fail with it. The file's first
line is the state, followed by a line for each GPU. The text for cloud-init holds no secret.
"""

import base64
import textwrap

from azure_gpu.catalog.services.machines import smi

LIMIT_SECONDS = 1200  # the driver extension takes minutes, and may restart the machine
_SLACK_SECONDS = 120
# The argument with which the script starts itself. Background processes of cloud-init survive: its service has KillMode=process
# (canonical/cloud-init, systemd/cloud-final.service.tmpl, 2026-11-25).
_ASKING = "asking"
# cloud-init runs scripts in this folder at every start, after the files are written.
_SCRIPT = "/var/lib/cloud/scripts/per-boot/azure-gpu-driver.sh"


def custom_data(gpus: int) -> str:
    """The text for cloud-init, in Base64."""
    return base64.b64encode(cloud_config(gpus).encode()).decode("ascii")


def cloud_config(gpus: int) -> str:
    script = textwrap.indent(_at_start(gpus), " " * 6)
    return f'#cloud-config\nwrite_files:\n  - path: {_SCRIPT}\n    permissions: "0755"\n    content: |\n{script}'


def _at_start(gpus: int) -> str:
    return f"""\
#!/bin/sh
# Proves the driver of {gpus} GPU{"s" if gpus != 1 else ""}: asks until they answer, and writes down what they say.
file={smi.PROOF_FILE}
mkdir -p "${{file%/*}}"
note() {{ printf '%s\\n' "$@" >"$file.new" && mv "$file.new" "$file"; }}
if [ "$1" != {_ASKING} ]; then
  note "{smi.WAITING}" # in place of what an earlier start has proved
  console=/dev/console
  ( : >"$console" ) 2>/dev/null || console=/dev/null
  setsid "$0" {_ASKING} </dev/null >"$console" 2>&1 &
  exit 0
fi
end=$(($(date +%s) + {LIMIT_SECONDS}))
while :; do
  said=$(nvidia-smi {smi.ARGUMENTS} 2>&1)
  if [ $? -eq 0 ] && [ "$(printf '%s\\n' "$said" | grep -c ', ')" -ge {gpus} ]; then
    note "{smi.PROVED}" "$said"
    exit 0
  fi
  if [ "$(date +%s)" -ge "$end" ]; then
    note "{smi.FAILED}" "${{said:-nvidia-smi says nothing}}"
    echo "azure-gpu: no working GPU driver after {LIMIT_SECONDS // 60} minutes: $said" >&2
    exit 1
  fi
  sleep 2
done
"""


def wait_script() -> str:
    """The script that makes an update wait for the driver's check."""
    return f"""\
#!/bin/sh
end=$(($(date +%s) + {LIMIT_SECONDS + _SLACK_SECONDS}))
while :; do
  case "$(head -n 1 {smi.PROOF_FILE} 2>/dev/null)" in
    "{smi.PROVED}") cat {smi.PROOF_FILE}; exit 0 ;;
    "{smi.FAILED}") cat {smi.PROOF_FILE} >&2; exit 1 ;;
  esac
  if [ "$(date +%s)" -ge "$end" ]; then
    echo "cloud-init hasn't proved the driver; see: cloud-init status --long" >&2
    exit 1
  fi
  sleep 1
done
"""


def windows_script(gpus: int) -> str:
    """The same on Windows, without cloud-init: PowerShell checks by itself."""
    return f"""\
$end = (Get-Date).AddSeconds({LIMIT_SECONDS})
while ($true) {{
  $said = & nvidia-smi.exe {smi.ARGUMENTS} 2>&1
  if ($LASTEXITCODE -eq 0 -and @($said | Where-Object {{ $_ -match ', ' }}).Count -ge {gpus}) {{ $said; exit 0 }}
  if ((Get-Date) -ge $end) {{ Write-Error "no working GPU driver: $said"; exit 1 }}
  Start-Sleep -Seconds 5
}}
"""


RUN_SECONDS = LIMIT_SECONDS + 2 * _SLACK_SECONDS  # of the run-command
