"""Virtual machines with GPUs: power states, what they cost, keys and passwords, shutdowns, drivers.

Expectations are literals from Azure's pages, the second source document, and NVIDIA's program.
"""

from datetime import date
from decimal import Decimal

from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.services import vm_images
from azure_gpu.catalog.services.machines import admins, costs, drivers, security, smi
from azure_gpu.catalog.services.machines.costs import MachineUse
from azure_gpu.catalog.services.machines.drivers import DriverRequest, RequestedMethod
from azure_gpu.catalog.services.vm_images import IMAGES, ImageReference, VmImage
from azure_gpu.catalog.sizes import SIZES
from tests.support.ssh_keys import PUBLIC_KEY
from tests.support.tables import of_table

TODAY = date(2026, 11, 22)
SMI = "Tesla K80, 3.7, 823.5, 000006C3:00:00.0, 11438, 11377, 470.82.01"  # the document's GPU, in nvidia-smi's words


def image(text: str) -> VmImage:
    found = vm_images.find(ImageReference(*text.split(":")), IMAGES)
    assert found is not None
    return found


def request(size: str, of_image: str, requested: RequestedMethod = "auto", **changed: object) -> DriverRequest:
    known = image(of_image)
    base = DriverRequest(SIZES.find(size), known, known.operating_system, False, "vm.driver", "vm.image", requested)
    return base._replace(**changed)


def test_what_nvidia_smi_does_not_know_is_unknown_and_what_is_no_gpu_is_passed_over() -> None:
    (gpu,) = smi.gpus("state: proved\nTesla T4, 7.5, [N/A], 00000001:00:00.0, 15360, [Not Supported], 580.95.05\n\nhello\n")
    assert gpu.lines[1] == "major: 7 minor: 5 memoryClockRate (GHz) unknown"
    assert gpu.lines[3:] == ("Total memory: 15.00GiB", "Free memory: unknown")
    assert smi.gpus("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.") == []


def test_disk_address_and_bastion_go_on_costing() -> None:
    alone = costs.cost(MachineUse("Standard_NC4as_T4_v3", "eastus", disk_gib=128), packaged())
    assert (alone.running.usd_hour, alone.stays.usd_hour) == (Decimal("0.526"), Decimal("0.0270"))  # 19.71 a month
    whole = MachineUse("Standard_NC4as_T4_v3", "eastus", disk_gib=100, public_address=True, bastion="basic")
    assert costs.cost(whole, packaged()).stays.usd_hour == Decimal("0.2220")
    assert costs.cost(whole._replace(bastion="developer"), packaged()).stays.usd_hour == Decimal("0.0320")


def test_a_price_that_is_not_known_is_never_nothing() -> None:
    use = MachineUse("Standard_NC4as_T4_v3", "eastus", disk_gib=300)
    assert costs.cost(use, packaged()).stays.text(TODAY) == "not known: no price of a Premium_LRS disk of 300 GiB in eastus"
    windows = costs.cost(use._replace(operating_system="Windows"), packaged())
    assert windows.running.usd_hour is None
    assert costs.cost(use._replace(region="westeurope", disk_gib=128), packaged()).stays.usd_hour is None


@of_table("text")
def test_what_is_no_key_that_azure_takes_is_refused(text: str) -> None:
    assert len(list(admins.key_problems(text, "admin"))) == 1


def test_a_key_is_taken_and_a_private_one_is_neither_taken_nor_shown() -> None:
    assert list(admins.key_problems(PUBLIC_KEY, "admin")) == []
    (problem,) = admins.key_problems("-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0\n-----END", "admin")
    assert "must stay on your machine" in problem.message
    assert "c2VjcmV0" not in str(problem)


def test_a_short_rsa_key_is_refused() -> None:
    from cryptography.hazmat.primitives import serialization as forms
    from cryptography.hazmat.primitives.asymmetric import rsa

    def key(bits: int) -> str:
        public = rsa.generate_private_key(65537, bits).public_key()
        return public.public_bytes(forms.Encoding.OpenSSH, forms.PublicFormat.OpenSSH).decode()

    assert list(admins.key_problems(key(2048), "admin")) == []
    assert [problem.message for problem in admins.key_problems(key(1024), "admin")] == ["RSA key with fewer than 2048 bits"]


@of_table("size", "of_image", "kind", "said")
def test_the_driver_comes_with_the_image_or_by_the_extension(size: str, of_image: str, kind: str, said: str) -> None:
    way, problems = drivers.choose(request(size, of_image), TODAY)
    assert way.kind == kind
    found = "; ".join(map(str, problems))
    assert (said in found) if said else not found


def test_two_drivers_and_none_at_all_are_refused_where_one_is_wanted() -> None:
    hpc, plain = "microsoft-dsvm:ubuntu-hpc:2404", "Canonical:0001-com-ubuntu-server-jammy:22_04-lts-gen2"
    (two,) = drivers.choose(request("Standard_NC4as_T4_v3", hpc, "extension"), TODAY)[1]
    assert "conflicts with the extension's" in two.message
    (none,) = drivers.choose(request("Standard_NC4as_T4_v3", plain, "image"), TODAY)[1]
    assert "brings no driver" in none.message
    assert drivers.choose(request("Standard_NC4as_T4_v3", plain, "none"), TODAY)[1] == []
    secure = request("Standard_NC4as_T4_v3", plain, secure_boot=True)
    assert "Secure Boot" in str(drivers.choose(secure, TODAY)[1])


def test_trusted_launch_is_for_sizes_and_images_that_are_known_to_take_it() -> None:
    dsvm, t4 = image("microsoft-dsvm:ubuntu-2204:2204-gen2"), SIZES.find("Standard_NC4as_T4_v3")
    assert security.takes_trusted_launch(t4, dsvm)
    assert not security.takes_trusted_launch(
        t4, image("microsoft-dsvm:dsvm-win-2022:winserver-2022")
    )  # its generation isn't known
    a100 = SIZES.find("Standard_ND96asr_v4")
    assert not security.takes_trusted_launch(a100, dsvm)
    assert "doesn't take Trusted Launch" in str(list(security.trusted_launch_problems(a100, dsvm, "security")))
    assert security.secure_boot("Windows", extension=False)
    assert not security.secure_boot("Windows", extension=True)
    assert not security.secure_boot("Linux", extension=False)
