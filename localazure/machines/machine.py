"""One virtual machine: a folder in which commands run; its starts and stops, and its first start.

A machine that has lost a command without its end starts again by itself, as one that was reset does.
"""

import asyncio
import hashlib
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from localazure.arm.store import Body
from localazure.batch.nodes import agent as agents
from localazure.batch.nodes.agent import Agent, AgentLostError, Command, Ended
from localazure.batch.task_environment import machines_path
from localazure.folder import random_secret
from localazure.kubernetes.gpu_programs import Programs
from localazure.machines import cloud_init, identity_tokens, paths, programs
from localazure.machines.model import MachineSettings
from localazure.services import Services
from localazure.waiting import canceled, to_its_end

log = logging.getLogger(__name__)
STARTING, RUNNING, STOPPING, STOPPED = "starting", "running", "stopping", "stopped"
DEALLOCATING, DEALLOCATED = "deallocating", "deallocated"
UP = (STARTING, RUNNING)
CLOUD_INIT_LOG = "var/log/cloud-init-output.log"
_PER_BOOT, _PER_INSTANCE = "var/lib/cloud/scripts/per-boot", "var/lib/cloud/scripts/per-instance"
_OWN_SCRIPTS = "var/lib/cloud/instance/scripts"
_ROOT_HOME = "root"


class MachineContext(NamedTuple):
    """What a machine gets from the server."""

    folder: Path  # the machines' folders lie here
    services: Services
    save: Callable[["Machine"], None]
    lost: Callable[["Machine"], None]  # its commands are gone


class Machine:
    """`record` is what outlasts this server."""

    def __init__(self, settings: MachineSettings, record: Body, context: MachineContext) -> None:
        self.settings = settings
        self.record = record
        self.context = context
        self.agent: Agent | None = None
        self.early = asyncio.Event()  # the first stages of cloud-init are over: commands and extensions may run
        self._initialising: asyncio.Task[None] | None = None
        self._restarting: asyncio.Task[None] | None = None

    # Looking

    @property
    def key(self) -> str:
        return self.settings.id.key

    @property
    def folder(self) -> Path:
        return self.context.folder / self.record["folder"]

    @property
    def root(self) -> Path:
        """What stands for the machine's file system."""
        return self.folder / "root"

    @property
    def power(self) -> str:
        return self.record["power"]

    @property
    def programs(self) -> Programs:
        return programs.gpu_programs(self.folder, self.settings, self.record["driver"])

    @property
    def identity_variables(self) -> dict[str, str]:
        return identity_tokens.metadata_variables(self.record["secret"], self.context.services)

    def environment(self) -> dict[str, str]:
        """What every command on the machine finds; made from scratch, so that nothing of this server's own gets there."""
        return {
            "PATH": programs.path_of(self.folder, machines_path()),
            "HOME": str(self.root / _ROOT_HOME),
            "USER": "root",
            "LOGNAME": "root",
            "LANG": "C.UTF-8",
            "TMPDIR": str(self.root / "tmp"),
            "HOSTNAME": self.settings.name,
            "LOCAL_MACHINE_ROOT": str(self.root),
            **self.identity_variables,
        }

    def led(self, text: str) -> str:
        return paths.led(text, self.root, self.record["written"])

    # Power

    def enter(self, power: str) -> None:
        self.record["power"], self.record["since"] = power, self.context.services.clock.stamp()
        self.context.save(self)

    async def start(self) -> None:
        """Comes up, from whatever state; cloud-init goes on afterwards. Where this server ends meanwhile, the next continues."""
        self.enter(STARTING)
        try:
            await self._up()
        except Exception:
            self.enter(STOPPED)
            raise

    async def restart(self) -> None:
        await self._down()
        await self.start()

    async def stop(self, *, deallocate: bool) -> None:
        self.enter(DEALLOCATING if deallocate else STOPPING)
        await self._down()
        self.enter(DEALLOCATED if deallocate else STOPPED)

    async def leave(self) -> None:
        """The machine is deleted, with its files."""
        await self._down()
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)

    async def adopt(self) -> bool:
        """Resumes what an earlier server left. Whether it went on; one that didn't starts again."""
        if self.power not in UP or self.settings.windows:
            self.early.set()
            return True
        if not agents.is_up(self.folder) or self.power == STARTING:
            await self.start()
            return False
        await self._open(resume=True)
        going = [run for run in self._agent().adopted if run.startswith("cloud-init/")]
        if self.record["cloud_init"]["status"] == "running":
            self._initialise(taken_up=max((int(run.rpartition("/")[2]) for run in going), default=0))
        else:
            self.early.set()
        return True

    def leave_alone(self) -> None:
        """This server ends; what runs continues for the next."""
        for task in (self._initialising, self._restarting):
            if task is not None:
                task.cancel()
        if self.agent is not None:
            self.agent.close()

    async def _up(self) -> None:
        self.record["boots"] += 1
        if self.settings.windows:
            self.early.set()
            self.enter(RUNNING)
            return
        await to_its_end(self._make_folders)
        await self._open()
        self.enter(RUNNING)
        self.early.clear()
        self._initialise()

    async def _down(self) -> None:
        for task in (self._initialising, self._restarting):
            if task is not None and task is not asyncio.current_task():
                await canceled(task)
        if self.record["cloud_init"]["status"] == "running":
            self._cloud_init("error", "The machine was stopped before it had ended.")
        agent, self.agent = self.agent, None
        if agent is not None:
            await agent.quit()
        else:
            await agents.end(self.folder)
        self.early.clear()

    async def _open(self, *, resume: bool = False) -> None:
        opened = Agent(self.folder, self._lost)
        await opened.open(resume=resume)
        self.agent = opened

    def _lost(self) -> None:
        log.warning("a process that stands over a command of %s was killed; the machine is started again", self.settings.name)
        self.agent = None
        self.context.lost(self)
        self._restarting = asyncio.create_task(self.start())

    def _agent(self) -> Agent:
        if self.agent is None:
            raise AgentLostError(f"the machine {self.settings.name} isn't running")
        return self.agent

    def _make_folders(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.rmtree(self.root / "mnt", ignore_errors=True)  # the temporary disk, which no stop outlives
        names = (*(path[1:] for path in paths.LED), f"home/{self.settings.user}", "var/log", "var/lib", "etc")
        for name in names:
            (self.root / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        self.install_programs()

    def install_programs(self) -> None:
        settings = self.context.services.settings
        reach = {"url": f"{settings.url}/machines/{self.record['secret']}", "authorities": str(settings.state / "ca-bundle.pem")}
        programs.install(self.folder, self.settings, self.record["driver"], reach)

    # Commands

    async def run(self, run: str, command: Command) -> Ended:
        """Runs a command to its end. AgentLostError where the machine stops meanwhile."""
        return await self._agent().run(run, command)

    async def ended(self, run: str) -> Ended | None:
        """Waits for a command that an earlier server began; None where the machine doesn't know it."""
        agent = self._agent()
        return await agent.ended(run) if run in agent.adopted else None

    def forget(self, run: str) -> None:
        if self.agent is not None:
            self.agent.forget(run)

    def end(self, run: str) -> None:
        if self.agent is not None:
            self.agent.end(run)

    # cloud-init

    def _initialise(self, taken_up: int = 0) -> None:
        self._initialising = asyncio.create_task(self._guarded(taken_up))

    async def _guarded(self, taken_up: int) -> None:
        try:
            await self._initialised(taken_up)
        except AgentLostError:
            pass  # it stops, or starts again
        except Exception as error:
            log.exception("cloud-init of %s failed", self.settings.name)
            self._cloud_init("error", str(error))
        finally:
            self.early.set()

    async def _initialised(self, taken_up: int) -> None:
        """`taken_up`: the number of the script that an earlier server has begun; 0 for none."""
        plan = cloud_init.plan(self.settings.custom_data)
        first = not self.record["initialised"]
        errors = list(plan.errors) if first else []
        if not taken_up:
            self._cloud_init("running", "")
            if first:
                await to_its_end(self._first, plan)
        self.early.set()
        scripts = await asyncio.to_thread(self._scripts, plan, first=first)
        for number, (name, text) in enumerate(scripts, 1):
            if number >= taken_up:
                errors += await self._script(number, name, text, taken_up=number == taken_up)
        self.record["initialised"] = True
        self._cloud_init("error" if errors else "done", "; ".join(errors))

    def _first(self, plan: cloud_init.Plan) -> None:
        """What the first start writes."""
        if plan.notes or plan.errors:
            with (self.root / CLOUD_INIT_LOG).open("a", encoding="utf-8") as output:
                output.writelines(f"{line}\n" for line in (*plan.notes, *plan.errors))
        written = [one.path for one in plan.files if not one.path.startswith(tuple(f"{top}/" for top in paths.LED))]
        self.record["written"] = sorted({*self.record["written"], *written})
        for file in plan.files:
            target = paths.inside(file.path, self.root)
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("ab" if file.append else "wb") as writing:
                writing.write(self._content(file.content))
            target.chmod(file.mode)

    def _content(self, content: bytes) -> bytes:
        """Text with its paths led into the machine; anything else as it is."""
        try:
            return self.led(content.decode("utf-8")).encode()
        except UnicodeDecodeError:
            return content

    def _scripts(self, plan: cloud_init.Plan, *, first: bool) -> list[tuple[str, str]]:
        """Those of the last stage, in cloud-init's order."""
        found = [(path.name, path.read_text("utf-8", "replace")) for path in sorted((self.root / _PER_BOOT).glob("*"))]
        if first:
            found += [(path.name, path.read_text("utf-8", "replace")) for path in sorted((self.root / _PER_INSTANCE).glob("*"))]
            found += [(f"part-{number:03d}", text) for number, text in enumerate(plan.scripts, 1)]
        return found

    async def _script(self, number: int, name: str, text: str, *, taken_up: bool = False) -> list[str]:
        """Runs one; the error that it means for the status, if any."""
        run = f"cloud-init/{number}"
        ended = await self.ended(run) if taken_up else None
        if ended is None:
            file = self.root / _OWN_SCRIPTS / name
            argv = await asyncio.to_thread(self.written_script, file, text)
            output = str(self.root / CLOUD_INIT_LOG)
            command = Command(
                argv, self.environment(), str(self.root), output, output, append=True, keep=True, context={"cloud-init": number}
            )
            ended = await self.run(run, command)
        self.forget(run)
        if ended.code == 0:
            return []
        return [f"the script {name} ended with {ended.code if ended.code is not None else ended.message or ended.why}"]

    def written_script(self, file: Path, text: str, arguments: tuple[str, ...] = ()) -> list[str]:
        """A script as a file of the machine, and how it is started: by its `#!` line, else by the shell."""
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        content = self.led(text.replace("\r\n", "\n"))
        file.write_text(content, encoding="utf-8")
        file.chmod(0o700)
        return [*([] if content.startswith("#!") else ["/bin/sh"]), str(file), *arguments]

    def _cloud_init(self, status: str, detail: str) -> None:
        self.record["cloud_init"] = {"status": status, "detail": detail}
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        programs.status_of_cloud_init(self.folder).write_text(f"{status}\n", encoding="utf-8")
        self.context.save(self)


def new_record(settings: MachineSettings, now: str) -> Body:
    """Of a machine that is yet to come up."""
    digest = hashlib.sha256(f"{settings.id.key}{settings.created}".encode()).hexdigest()
    return {
        "id": settings.id.text,
        "folder": f"{settings.name.lower()[:40]}-{digest[:12]}",
        "secret": random_secret(),
        "power": STARTING,
        "since": now,
        "boots": 0,
        "initialised": False,
        "cloud_init": {"status": "not started", "detail": ""},
        "driver": settings.image_driver,
        "written": [],  # files outside of the folders that are always led into the machine
        "containers": {},
        "logins": {},  # by registry the principal that signed in
        "signed_on": "",  # the principal of `az login --identity`
        "runs": {},  # run commands, by name
        "number": 0,  # of the last command
    }
