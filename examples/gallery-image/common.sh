# What both recipes share: options, the gallery, the machine that is built and removed again, the version.
# shellcheck shell=bash
#
# Sourced by linux.sh and windows.sh. Everything that is made for the build alone lies in a resource group of its own,
# which is deleted at the end, however the build ends. What stays is the gallery, the definition and the version.

set -euo pipefail

GROUP=""
GALLERY=""
LOCATION="eastus"
VERSION="1.0.0"
REGIONS=""
SIZE=""
BASE=""
DEFINITION=""

say() {
    printf '%s\n' "$*" >&2
}

fail() {
    say "error: $*"
    exit 2
}

# The build itself went wrong, not how it was asked for.
broken() {
    say "error: $*"
    exit 1
}

# Options that both recipes have; says whether it took one. The recipes take their own.
common_option() {
    case "$1" in
    --group) GROUP="$2" ;;
    --gallery) GALLERY="$2" ;;
    --definition) DEFINITION="$2" ;;
    --location) LOCATION="$2" ;;
    --version) VERSION="$2" ;;
    --regions) REGIONS="$2" ;;
    --size) SIZE="$2" ;;
    --base) BASE="$2" ;;
    *) return 1 ;;
    esac
}

check_options() {
    [[ -n "$GROUP" ]] || fail "--group names the resource group of the gallery"
    [[ "$GALLERY" =~ ^[A-Za-z0-9._]{1,80}$ ]] || fail "--gallery is letters, digits, dots and underscores: '$GALLERY'"
    [[ "$VERSION" =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "--version is three numbers with dots: '$VERSION'"
    REGIONS="${REGIONS:-$LOCATION}"
    # Of its own for each version, so that two builds never meet, and one that was killed is found again.
    BUILD_GROUP="${GROUP}-build-${DEFINITION}-${VERSION//./-}"
    MACHINE="build"
}

# The gallery and the definition: made where they aren't there, and left as they are where they are.
gallery() {
    local os_type="$1" sku="$2"
    az group create --name "$GROUP" --location "$LOCATION" --output none
    if ! az sig show --resource-group "$GROUP" --gallery-name "$GALLERY" --output none 2>/dev/null; then
        az sig create --resource-group "$GROUP" --gallery-name "$GALLERY" --location "$LOCATION" --output none
    fi
    if ! az sig image-definition show --resource-group "$GROUP" --gallery-name "$GALLERY" \
        --gallery-image-definition "$DEFINITION" --output none 2>/dev/null; then
        # Batch starts its nodes without Trusted Launch, and a definition says it for all of its versions.
        az sig image-definition create --resource-group "$GROUP" --gallery-name "$GALLERY" \
            --gallery-image-definition "$DEFINITION" --location "$LOCATION" \
            --publisher azure-gpu --offer gpu-nodes --sku "$sku" \
            --os-type "$os_type" --os-state Generalized --hyper-v-generation V2 \
            --features SecurityType=Standard --output none
    fi
}

# The version's id; "" where there is none yet.
version_id() {
    az sig image-version show --resource-group "$GROUP" --gallery-name "$GALLERY" \
        --gallery-image-definition "$DEFINITION" --gallery-image-version "$VERSION" \
        --query id --output tsv 2>/dev/null || true
}

# What was made for the build goes, also after an error and at Ctrl-C. What can't be deleted is named.
clean_up() {
    local ended=$?
    trap - EXIT
    rm -f "${PASSWORD_FILE:-}"
    if [[ -n "${BUILDING:-}" ]]; then
        az group delete --name "$BUILD_GROUP" --yes --no-wait --output none ||
            say "the resource group $BUILD_GROUP is still there: az group delete --name $BUILD_GROUP --yes"
    fi
    exit "$ended"
}

begin_building() {
    trap clean_up EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    BUILDING=yes
    az group create --name "$BUILD_GROUP" --location "$LOCATION" --tags purpose=gallery-image --output none
}

# Options that every build machine has: no public address, no open port, no Trusted Launch.
machine_options() {
    printf '%s\0' --resource-group "$BUILD_GROUP" --name "$MACHINE" --location "$LOCATION" \
        --image "$BASE" --size "$SIZE" --security-type Standard --os-disk-delete-option Delete \
        --nic-delete-option Delete --public-ip-address "" --nsg-rule NONE
}

extension() {
    say "installing the extension $1"
    az vm extension set --resource-group "$BUILD_GROUP" --vm-name "$MACHINE" \
        --publisher Microsoft.HpcCompute --name "$1" --output none
}

# Runs a script on the machine, $1 says in which shell; what it prints is shown. `az` succeeds whatever the script does, so
# a word that only a script that went well prints is looked for.
run_on_machine() {
    local shell="$1" script="$2" expected="$3" message
    message="$(az vm run-command invoke --resource-group "$BUILD_GROUP" --name "$MACHINE" --command-id "$shell" \
        --scripts "$script" --query 'value[].message' --output tsv)"
    say "$message"
    [[ "$message" == *"$expected"* ]] || broken "the machine didn't say '$expected': see above"
}

# The machine as a version of the image: it is stopped, generalised, copied.
publish() {
    local regions
    read -r -a regions <<<"$REGIONS"
    az vm deallocate --resource-group "$BUILD_GROUP" --name "$MACHINE" --output none
    az vm generalize --resource-group "$BUILD_GROUP" --name "$MACHINE" --output none
    local machine_id
    machine_id="$(az vm show --resource-group "$BUILD_GROUP" --name "$MACHINE" --query id --output tsv)"
    say "making the version $VERSION of $DEFINITION"
    az sig image-version create --resource-group "$GROUP" --gallery-name "$GALLERY" \
        --gallery-image-definition "$DEFINITION" --gallery-image-version "$VERSION" \
        --location "$LOCATION" --virtual-machine "$machine_id" \
        --target-regions "${regions[@]}" --replica-count 1 --output none
}
