"""How the daemon is run, by the tools' own verdict: systemd, container, compose, Kubernetes."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
import yaml
from harness.daemon import Daemon
from harness.programs import free_port, need, need_module, need_script

from monitor.config import load
from tests.deploy.installation import DEPLOY, PROJECT, changed, run, shipped

SETTINGS = sorted(DEPLOY.rglob("monitor.yaml"))
SETTINGS.remove(DEPLOY / "grafana" / "provisioning" / "dashboards" / "monitor.yaml")
UNIT = DEPLOY / "systemd" / "monitor.service"
COMPOSE = DEPLOY / "compose.yaml"
PROGRAMS = Path(sys.executable).parent
EXPOSURE_MAX = 20  # tenths


def compose() -> dict:
    return yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))


# -- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", SETTINGS, ids=lambda file: str(file.relative_to(DEPLOY)))
def test_settings_have_no_mistakes_and_a_secret_only_by_its_file(file):
    settings = load(file)

    assert settings.mqtt.tls is not None
    assert settings.mqtt.username == "monitor"
    assert settings.mqtt.password_file
    assert Path(settings.journal.path).is_relative_to("/var/lib/monitor")
    assert len(SETTINGS) == 4


# -- systemd --------------------------------------------------------------------------------------


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """Return the unit with a program that is there."""
    program = str(PROGRAMS / "monitor")
    path = tmp_path / "monitor.service"
    path.write_text(shipped("systemd/monitor.service", ("/opt/monitor/bin/monitor", program)))
    return path


def test_systemd_finds_nothing_wrong_with_the_unit(unit):
    done = run(need("systemd-analyze"), "verify", "--man=no", unit)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_systemd_would_find_something_wrong(unit):
    unit.write_text(changed(unit.read_text(), ("WatchdogSec=60", "WatchdogSex=60")))

    assert "WatchdogSex" in run(need("systemd-analyze"), "verify", "--man=no", unit).stderr


def test_what_the_unit_exposes_is_little(unit):
    command = ("security", "--offline=true", f"--threshold={EXPOSURE_MAX}", "--no-pager", unit)
    done = run(need("systemd-analyze"), *command)

    assert done.returncode == 0, done.stdout[-200:]


def test_the_unit_hands_over_the_credential_that_the_settings_ask_for():
    text = UNIT.read_text(encoding="utf-8")
    settings = load(DEPLOY / "systemd" / "monitor.yaml")

    assert settings.mqtt.password_file.written == re.search(r"LoadCredential=([\w-]+):", text)[1]
    assert "Type=notify" in text
    assert (
        float(re.search(r"WatchdogSec=(\d+)", text)[1]) > 3 * settings.mqtt.connect_timeout_seconds
    )


# -- container ------------------------------------------------------------------------------------


def containerfile() -> str:
    return (DEPLOY / "Containerfile").read_text(encoding="utf-8")


def healthcheck() -> list[str]:
    return json.loads(re.search(r"HEALTHCHECK .*?CMD (\[.*?\])\n", containerfile(), re.DOTALL)[1])


def test_hadolint_finds_nothing_to_say():
    done = run(need_script("hadolint"), "--format", "json", DEPLOY / "Containerfile")

    assert json.loads(done.stdout) == []


def test_the_image_runs_without_root():
    assert re.findall(r"^USER (\S+)", containerfile(), re.MULTILINE) == ["10001:10001"]


# Their tags are as exact as they come; a release adds the digests (CONTRIBUTING.md).
WITHOUT_DIGEST = {
    "docker.io/apache/spark:4.3.0-scala2.13-java17-python3-ubuntu",
    "docker.io/prom/alertmanager:v0.35.1",
}


def test_images_of_others_are_pinned_by_digest():
    """A tag can be moved; what its digest names cannot."""
    images = [service["image"] for service in compose()["services"].values()]
    for name in ("Containerfile", "Containerfile.cluster"):
        stages = re.findall(r"^FROM (\S+)(?: AS (\w+))?$", shipped(name), re.MULTILINE)
        sources = re.findall(r"^COPY --from=(\S+)", shipped(name), re.MULTILINE)
        own = {stage for _, stage in stages}
        images += [each for each in (*(image for image, _ in stages), *sources) if each not in own]
    others = {each for each in images if each != "monitor"}
    loose = {each for each in others if not re.search(r":[\w.-]+@sha256:[0-9a-f]{64}$", each)}

    assert loose == WITHOUT_DIGEST
    assert len(others) == 6


@pytest.mark.parametrize("name", ["Containerfile", "Containerfile.cluster"])
def test_an_image_is_built_from_all_that_the_package_is_made_of(name):
    copied = {
        source
        for line in re.findall(r"^COPY (?!--from)(.*)", shipped(name), re.MULTILINE)
        for source in shlex.split(line)[:-1]
    }
    kept = {line[1:] for line in shipped(f"{name}.dockerignore").splitlines() if line[0] == "!"}
    pyproject = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    wheel = pyproject["tool"]["hatch"]["build"]["targets"]["wheel"]
    included = (path.lstrip("/") for path in wheel["include"])
    parts = {"pyproject.toml", "uv.lock", pyproject["project"]["readme"], *included}
    wanted = {each.split("/")[0] for each in (*parts, *wheel["force-include"])}

    assert wanted <= copied
    assert kept == copied
    assert all((PROJECT / source).exists() for source in copied)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    running = Daemon(tmp_path_factory.mktemp("health"), free_port())
    running.start(ready=False)
    yield running
    running.kill()


def test_the_health_check_passes_while_the_daemon_works_broker_or_not(daemon):
    address = daemon.url.removeprefix("http://")
    program, *words = healthcheck()
    alive = [changed(words[1], ("127.0.0.1:9108", address))]
    dead = [changed(words[1], ("127.0.0.1:9108", f"127.0.0.1:{free_port()}"))]

    assert (program, words[0]) == ("python", "-c")
    assert daemon.get("/readyz")[0] == 503
    assert run(sys.executable, "-c", *alive).returncode == 0
    assert run(sys.executable, "-c", *dead).returncode == 1


# -- compose --------------------------------------------------------------------------------------


def schema_check(file: Path) -> tuple[int, str]:
    """Return the verdict of check-jsonschema, which has the schema of compose files with it."""
    command = ("--builtin-schema", "vendor.compose-spec", file)
    done = run(need_script("check-jsonschema"), *command)
    return done.returncode, done.stdout


def test_compose_is_what_the_compose_specification_allows(tmp_path):
    wrong = tmp_path / "compose.yaml"
    wrong.write_text(shipped("compose.yaml", ("stop_grace_period", "stop_grace_perriod")))

    assert schema_check(COMPOSE)[0] == 0
    assert schema_check(wrong)[0] == 1


def test_compose_mounts_files_that_are_shipped_or_made_by_prepare(secrets):
    stack = compose()
    volumes = [volume for service in stack["services"].values() for volume in service["volumes"]]
    files = [volume.split(":")[0] for volume in volumes if volume.startswith("./")]
    files += [secret["file"] for secret in stack["secrets"].values()]
    assert len(files) > 12
    for file in files:
        made = file.removeprefix("./secrets/")
        assert (secrets.folder / made if made != file else DEPLOY / file).exists(), file
    named = {volume.split(":")[0] for volume in volumes if not volume.startswith("./")}

    assert named == set(stack["volumes"])
    assert all(v.endswith(":ro") for v in volumes if v.startswith("./"))


def test_services_of_compose_are_read_only_pinned_and_open_to_this_machine_alone():
    services = compose()["services"]
    for name, service in services.items():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        version = r":v?\d+\.\d+\.\d+(@sha256:[0-9a-f]{64})?"
        assert name == "monitor" or re.search(f"{version}$", service["image"])
        outside = [port for port in service["ports"] if not port.startswith("127.0.0.1:")]
        assert outside == (["8883:8883"] if name == "mosquitto" else [])


def test_images_of_compose_are_still_supported():
    """Else: take a supported version, and its date."""
    pins = re.findall(r"image: \S+:\S+(.*)", COMPOSE.read_text(encoding="utf-8"))
    dates = [re.fullmatch(r" # (?:supported until|review by) (\S+)", text)[1] for text in pins]

    assert len(dates) == len(compose()["services"]) - 1  # our own image has no version
    assert datetime.now(UTC).date() < min(map(date.fromisoformat, dates))


def test_services_of_compose_find_each_other():
    services = compose()["services"]
    settings = load(DEPLOY / "compose" / "monitor.yaml")
    prometheus = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    (scraped,) = prometheus["scrape_configs"][0]["static_configs"][0]["targets"]
    (told,) = prometheus["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"]

    assert settings.mqtt.host in services
    assert scraped == f"monitor:{settings.http.port}"
    assert told.split(":")[0] in services
    secrets = {f"/run/secrets/{name}" for name in services["monitor"]["secrets"]}
    assert {settings.mqtt.password_file, settings.mqtt.tls.ca_file} == secrets


def test_alerts_of_compose_link_to_the_port_that_it_opens():
    (port,) = compose()["services"]["monitor"]["ports"]
    outside, _, inside = port.rpartition(":")
    settings = load(DEPLOY / "compose" / "monitor.yaml")

    assert inside == str(settings.http.port)
    assert settings.http.public_url == f"http://{outside}"


def test_compose_asks_for_health_as_the_image_does():
    assert compose()["services"]["monitor"]["healthcheck"]["test"] == ["CMD", *healthcheck()]


def test_the_broker_of_compose_starts_with_its_files_where_its_image_wants_them(tmp_path):
    """The command rewrites one folder; what it writes is what was meant, no more."""
    words = compose()["services"]["mosquitto"]["command"]
    script = words[2].replace(
        "/tmp/",  # noqa: S108 - what the file says
        f"{tmp_path}/",
    )
    script = script.replace(
        "/etc/mosquitto/mosquitto.conf", str(DEPLOY / "mosquitto/mosquitto.conf")
    )
    script = script.replace("exec mosquitto -c", "cat")
    done = run(*words[:2], script)
    before = shipped("mosquitto/mosquitto.conf").splitlines()

    differing = [
        new for old, new in zip(before, done.stdout.splitlines(), strict=True) if old != new
    ]
    assert differing == ["persistence_location /mosquitto/data/"]


# -- Kubernetes -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """Return what kustomize makes of the operator's folder."""
    program = need_script("kubectl")
    folder = tmp_path_factory.mktemp("kubernetes") / "kubernetes"
    shutil.copytree(DEPLOY / "kubernetes", folder)
    secrets = folder / "base" / "secrets"
    secrets.mkdir(exist_ok=True)
    for name in ("mqtt-password", "ca.pem"):
        (secrets / name).write_text("of a test\n", encoding="utf-8")
    done = run(program, "kustomize", folder / "operator")
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def one(rendered: list[dict], kind: str) -> dict:
    (found,) = (each for each in rendered if each["kind"] == kind)
    return found


def test_every_object_is_what_kubernetes_allows_strictly(rendered):
    need_module("kubernetes_validate", "deploy")
    import kubernetes_validate as validator

    known = [each for each in rendered if "coreos" not in each["apiVersion"]]
    for each in known:
        validator.validate(each, "1.31", strict=True)
    kinds = {each["kind"] for each in known}
    assert kinds == {
        *("Namespace", "ConfigMap", "Secret", "Service", "StatefulSet", "NetworkPolicy")
    }
    container = one(rendered, "StatefulSet")["spec"]["template"]["spec"]["containers"][0]
    container["livenessProb"] = container.pop("livenessProbe")
    with pytest.raises(validator.ValidationError, match="livenessProb"):
        validator.validate(one(rendered, "StatefulSet"), "1.31", strict=True)
    container["livenessProbe"] = container.pop("livenessProb")


def test_the_pod_meets_the_restricted_standard_and_is_probed(rendered):
    pod = one(rendered, "StatefulSet")["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    probes = {
        name: container[f"{name}Probe"]["httpGet"]["path"]
        for name in ("startup", "liveness", "readiness")
    }
    assert probes == {"startup": "/healthz", "liveness": "/healthz", "readiness": "/readyz"}
    assert f"USER {pod['securityContext']['runAsUser']}:" in containerfile()
    assert one(rendered, "Namespace")["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]


def test_the_pod_finds_journal_settings_and_secrets_where_the_settings_say(rendered):
    spec = one(rendered, "StatefulSet")["spec"]
    pod, (container,) = spec["template"]["spec"], spec["template"]["spec"]["containers"]
    settings = load(DEPLOY / "kubernetes" / "base" / "monitor.yaml")
    mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    sources = {volume["name"]: volume for volume in pod["volumes"]}

    assert spec["replicas"] == 1
    assert str(Path(settings.journal.path).parent) == mounted["journal"]
    assert spec["volumeClaimTemplates"][0]["metadata"]["name"] == "journal"
    wanted = {settings.mqtt.password_file, settings.mqtt.tls.ca_file}
    secret = one(rendered, "Secret")
    assert wanted == {f"{mounted['secrets']}/{name}" for name in secret["data"]}
    assert sources["secrets"]["secret"]["secretName"] == secret["metadata"]["name"]
    assert (
        sources["settings"]["configMap"]["name"] == one(rendered, "ConfigMap")["metadata"]["name"]
    )
    assert container["args"][-1] == f"{mounted['settings']}/monitor.yaml"
    assert list(one(rendered, "ConfigMap")["data"]) == ["monitor.yaml"]


def test_alerts_on_kubernetes_link_to_where_the_command_beside_the_setting_leads(rendered):
    file = DEPLOY / "kubernetes" / "base" / "monitor.yaml"
    service = one(rendered, "Service")["metadata"]
    words = " ".join(file.read_text(encoding="utf-8").replace("\n  #", "").split())
    (command,) = re.findall(r"`(kubectl .* port-forward [^`]+)`", words)
    port = one(rendered, "Service")["spec"]["ports"][0]["port"]

    to = f"--namespace {service['namespace']} port-forward service/{service['name']} {port}"
    assert command == f"kubectl {to}"
    assert load(file).http.public_url == f"http://127.0.0.1:{port}"


def test_prometheus_operator_scrapes_the_service_under_the_rules_job(rendered):
    service, scraped = one(rendered, "Service"), one(rendered, "ServiceMonitor")
    labels, spec = service["metadata"]["labels"], scraped["spec"]
    (endpoint,) = spec["endpoints"]

    assert set(spec) == {"jobLabel", "selector", "endpoints"}
    assert set(endpoint) == {"port", "path", "interval", "scrapeTimeout"}
    assert spec["selector"]["matchLabels"].items() <= labels.items()
    assert labels[spec["jobLabel"]] == "monitor"
    assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}
    assert service["spec"]["publishNotReadyAddresses"] is True
    selector = one(rendered, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"]
    assert selector == one(rendered, "StatefulSet")["spec"]["selector"]["matchLabels"]


def test_the_operators_rules_are_those_of_prometheus(rendered):
    """Else: python deploy/kubernetes/operator/rules.py."""
    alerts = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text(encoding="utf-8"))

    assert one(rendered, "PrometheusRule")["spec"] == alerts
