#!/usr/bin/env bash
# An image of Windows nodes for Azure Batch, as a version in an Azure Compute Gallery: with Microsoft MPI and the driver
# of InfiniBand, with NVIDIA's driver, or with both.
#
#   ./windows.sh --group images --gallery lab --size Standard_NC4as_T4_v3                       a GPU
#   ./windows.sh --group images --gallery lab --size Standard_HB120rs_v3 --mpi yes --rdma InfiniBandDriverWindows
#   ./windows.sh --group images --gallery lab --size Standard_H16r --mpi yes --rdma HpcVmDrivers   what it was in 2018
#
# Further options: --gpu yes|no, --definition NAME, --version 1.0.1, --location eastus, --regions "eastus westus3",
# --base publisher:offer:sku:version. The version's id is the only line on standard output. A version that is there is
# never built again.

folder="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=examples/gallery-image/common.sh
source "$folder/common.sh"

GPU=""
MPI="no"
RDMA=""
while (($#)); do
    (($# > 1)) || fail "$1 needs a value"
    case "$1" in
    --gpu) GPU="$2" ;;
    --mpi) MPI="$2" ;;
    --rdma) RDMA="$2" ;;
    *) common_option "$1" "$2" || fail "no such option: $1" ;;
    esac
    shift 2
done
[[ -n "$SIZE" ]] || fail "--size is the size that the nodes will have: its extension needs the same hardware"
case "$SIZE" in
Standard_N*) GPU="${GPU:-yes}" ;;
*) GPU="${GPU:-no}" ;;
esac
case "$RDMA" in
"" | HpcVmDrivers | InfiniBandDriverWindows) ;;
*) fail "--rdma is InfiniBandDriverWindows, or HpcVmDrivers for H16r and its like: '$RDMA'" ;;
esac
[[ "$GPU" == yes || "$GPU" == no ]] || fail "--gpu is yes or no: '$GPU'"
[[ "$MPI" == yes || "$MPI" == no ]] || fail "--mpi is yes or no: '$MPI'"
BASE="${BASE:-MicrosoftWindowsServer:WindowsServer:2022-datacenter-g2:latest}"
DEFINITION="${DEFINITION:-gpu-windows}"
check_options

# `az` reads it from the file: in a command line everybody on this machine could read it. Nobody needs it later.
new_password() {
    local letters
    PASSWORD_FILE="$(umask 077 && mktemp)"
    letters="$(head -c 256 /dev/urandom | LC_ALL=C tr -dc 'A-Za-z0-9')"
    printf 'Aa1-%s' "${letters:0:28}" >"$PASSWORD_FILE"
}

gallery Windows "$DEFINITION"
id="$(version_id)"
if [[ -z "$id" ]]; then
    begin_building
    new_password
    mapfile -d '' -t options < <(machine_options)
    say "starting a $SIZE with $BASE in $LOCATION"
    az vm create "${options[@]}" --computer-name "$MACHINE" --admin-username builder --admin-password "@$PASSWORD_FILE" \
        --output none
    if [[ "$GPU" == yes ]]; then
        extension NvidiaGpuDriverWindows
        run_on_machine RunPowerShellScript 'nvidia-smi; if ($?) { "the-driver-works" }' the-driver-works
    fi
    if [[ -n "$RDMA" ]]; then
        extension "$RDMA"
    fi
    if [[ "$MPI" == yes ]]; then
        say "installing Microsoft MPI"
        run_on_machine RunPowerShellScript "@$folder/install-msmpi.ps1" 'Microsoft MPI'
    fi
    run_on_machine RunPowerShellScript "@$folder/generalize.ps1" 'sysprep has begun'
    # Sysprep shuts the machine down itself, a while after its command has been answered.
    az vm wait --resource-group "$BUILD_GROUP" --name "$MACHINE" --interval 15 --timeout 1800 \
        --custom "instanceView.statuses[?code=='PowerState/stopped']"
    publish
    id="$(version_id)"
fi
printf '%s\n' "$id"
