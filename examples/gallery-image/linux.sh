#!/usr/bin/env bash
# An image of Linux nodes with a GPU for Azure Batch, as a version in an Azure Compute Gallery.
#
#   ./linux.sh --group images --gallery lab                     ubuntu-hpc, which brings driver, InfiniBand and HPC-X
#   ./linux.sh --group images --gallery lab --driver extension  plain Ubuntu, and NVIDIA's driver by the extension
#   ./linux.sh … --setup packages.sh                            runs a script of your own on the machine before the end
#
# Further options: --definition NAME, --version 1.0.1, --location eastus, --regions "eastus westus3", --size SIZE,
# --base publisher:offer:sku:version. The version's id is the only line on standard output. A version that is there is
# never built again.

folder="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=examples/gallery-image/common.sh
source "$folder/common.sh"

DRIVER="image"
SETUP=""
while (($#)); do
    (($# > 1)) || fail "$1 needs a value"
    case "$1" in
    --driver) DRIVER="$2" ;;
    --setup) SETUP="$2" ;;
    *) common_option "$1" "$2" || fail "no such option: $1" ;;
    esac
    shift 2
done
case "$DRIVER" in
image)
    BASE="${BASE:-microsoft-dsvm:ubuntu-hpc:2404:latest}"
    DEFINITION="${DEFINITION:-gpu-linux-hpc}"
    ;;
extension)
    BASE="${BASE:-Canonical:0001-com-ubuntu-server-jammy:22_04-lts-gen2:latest}"
    DEFINITION="${DEFINITION:-gpu-linux}"
    ;;
*) fail "--driver is image or extension: '$DRIVER'" ;;
esac
SIZE="${SIZE:-Standard_NC4as_T4_v3}"
[[ -z "$SETUP" || -r "$SETUP" ]] || fail "there is no script $SETUP"
check_options

gallery Linux "$DEFINITION"
id="$(version_id)"
if [[ -z "$id" ]]; then
    begin_building
    mapfile -d '' -t options < <(machine_options)
    say "starting a $SIZE with $BASE in $LOCATION"
    az vm create "${options[@]}" --admin-username builder --generate-ssh-keys --output none
    if [[ "$DRIVER" == extension ]]; then
        extension NvidiaGpuDriverLinux
    fi
    if [[ -n "$SETUP" ]]; then
        run_on_machine RunShellScript "@$SETUP" ""
    fi
    # A node with a driver that doesn't work would fail each task: better here than there.
    run_on_machine RunShellScript 'nvidia-smi && echo the-driver-works' the-driver-works
    # Users, keys and names of this machine go, as https://aka.ms/linux-generalize has it.
    run_on_machine RunShellScript 'waagent -force -deprovision+user && echo it-is-generalised' it-is-generalised
    publish
    id="$(version_id)"
fi
printf '%s\n' "$id"
