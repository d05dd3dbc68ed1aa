"""Bridges, log and job on Kubernetes: every field exists, and the files agree with each other."""

from __future__ import annotations

import copy
import json
import re
import shutil
from pathlib import Path

import pytest
import yaml
from harness.programs import need_module, need_script

from monitor.cli import main
from monitor.config import load
from monitor.config.settings import Settings
from tests.deploy.crds import SCHEMAS
from tests.deploy.installation import DEPLOY, PROJECT, run

FOLDER = DEPLOY / "kubernetes" / "cluster"
OWN = {"Namespace", "ConfigMap", "Secret", "PersistentVolumeClaim", "StatefulSet", "Service"}
OWN |= {"ServiceAccount", "Role", "RoleBinding"}


@pytest.fixture(scope="module")
def objects(tmp_path_factory) -> list[dict]:
    """Return what kustomize makes of the folder."""
    program = need_script("kubectl")
    folder = tmp_path_factory.mktemp("cluster") / "cluster"
    shutil.copytree(FOLDER, folder)
    (folder / "secrets").mkdir(exist_ok=True)
    for name in ("mqtt-password", "ca.pem"):
        (folder / "secrets" / name).write_text("of a test\n", encoding="utf-8")
    done = run(program, "kustomize", folder)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


@pytest.fixture(scope="module")
def settings() -> Settings:
    return load(FOLDER / "monitor.yaml")


def one(objects: list[dict], kind: str, name: str | None = None) -> dict:
    (found,) = (
        each
        for each in objects
        if each["kind"] == kind and name in (None, each["metadata"]["name"])
    )
    return found


def pods(objects: list[dict]) -> dict[str, dict]:
    """Return what the operator makes of the job, as pods."""
    spec = one(objects, "SparkApplication")["spec"]
    found = {}
    for role in ("driver", "executor"):
        of = spec[role]
        container = {
            "name": role,
            "image": spec["image"],
            "volumeMounts": of["volumeMounts"],
            "ports": of.get("ports", []),
        }
        body = {
            "containers": [container],
            "volumes": spec["volumes"],
            "securityContext": of["podSecurityContext"],
        }
        metadata = {"name": role, "labels": of.get("labels", {})}
        found[role] = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}
    return found


def errors(schema: dict, document: dict) -> list[str]:
    validator = pytest.importorskip("jsonschema").Draft202012Validator(schema)
    return [each.message for each in validator.iter_errors(document)]


def test_every_field_of_the_operators_objects_is_one_their_definitions_have(objects):
    theirs = [each for each in objects if each["kind"] not in OWN]
    assert {each["kind"] for each in theirs} == set(SCHEMAS)
    for each in theirs:
        assert errors(SCHEMAS[each["kind"]], each) == []
        for path in (("spec",), ("spec", "driver"), ("spec", "storage"), ("spec", "kafka")):
            wrong = copy.deepcopy(each)
            at = wrong
            for key in path:
                at = at.get(key, {})
            if at:
                at["colour"] = "red"
                assert len(errors(SCHEMAS[each["kind"]], wrong)) == 1


def test_every_other_object_is_what_kubernetes_allows_strictly(objects):
    need_module("kubernetes_validate", "deploy")
    import kubernetes_validate as validator

    for each in [each for each in objects if each["kind"] in OWN] + [*pods(objects).values()]:
        validator.validate(each, "1.31", strict=True)


def test_topic_log_and_settings_name_the_same_things(objects, settings):
    log, topic = settings.cluster.log, one(objects, "KafkaTopic")
    kafka, pool = one(objects, "Kafka"), one(objects, "KafkaNodePool")
    name = kafka["metadata"]["name"]
    ports = {each["port"]: each["tls"] for each in kafka["spec"]["kafka"]["listeners"]}
    host, port = log.servers.split(":")

    assert topic["spec"].get("topicName", topic["metadata"]["name"]) == log.topic
    assert topic["spec"]["partitions"] == log.partitions == settings.cluster.job.tasks
    assert {each["metadata"]["labels"]["strimzi.io/cluster"] for each in (topic, pool)} == {name}
    assert host == f"{name}-kafka-bootstrap"
    assert ports[int(port)] is False
    assert log.properties_file is None
    assert topic["spec"]["replicas"] <= pool["spec"]["replicas"]
    assert topic["spec"]["config"]["min.insync.replicas"] < topic["spec"]["replicas"]
    assert settings.cluster.blocks % log.partitions == 0


def test_pods_find_settings_secrets_and_volumes_where_the_settings_say(objects, settings):
    job = settings.cluster.job
    driver, executor = (pods(objects)[role]["spec"] for role in ("driver", "executor"))
    bridge = one(objects, "StatefulSet")["spec"]["template"]["spec"]
    claims = {each["metadata"]["name"]: each["spec"] for each in objects if "Claim" in each["kind"]}

    def mounts(pod):
        (container,) = pod["containers"]
        return {each["name"]: each["mountPath"] for each in container["volumeMounts"]}

    for pod in (driver, executor, bridge):
        sources = {each["name"]: each for each in pod["volumes"]}
        assert set(mounts(pod)) <= set(sources)
        assert sources["settings"]["configMap"]["name"] == "monitor-settings"
        assert sources["secrets"]["secret"]["secretName"] == "monitor-secrets"
        folder = mounts(pod)["secrets"]
        wanted = {settings.mqtt.password_file, settings.mqtt.tls.ca_file}
        assert wanted == {f"{folder}/{name}" for name in one(objects, "Secret")["data"]}
    spec = one(objects, "SparkApplication")["spec"]
    arguments = [*spec["arguments"], *bridge["containers"][0]["args"]]
    assert arguments.count(f"{mounts(driver)['settings']}/monitor.yaml") == 2
    for path in (job.checkpoint, job.results):
        assert Path(path).is_relative_to(mounts(executor)["shared"])
        assert Path(path).is_relative_to(mounts(driver)["shared"])
    assert Path(settings.journal.path).is_relative_to(mounts(driver)["driver"])
    assert "driver" not in mounts(executor)
    assert claims["monitor-shared"]["accessModes"] == ["ReadWriteMany"]
    named = {each["persistentVolumeClaim"]["claimName"] for each in driver["volumes"][2:]}
    assert named == set(claims)


def test_services_point_at_the_metrics_of_bridges_and_driver(objects, settings):
    cluster = settings.cluster
    bridge = one(objects, "StatefulSet")["spec"]["template"]
    driver = pods(objects)["driver"]
    ports = {"bridge": cluster.bridge.metrics_port, "job": cluster.job.metrics_port}
    for name, pod in (("bridge", bridge), ("job", driver)):
        service = one(objects, "Service", name)["spec"]
        (port,) = pod["spec"]["containers"][0]["ports"]
        assert service["selector"].items() <= pod["metadata"]["labels"].items()
        assert service["ports"][0]["targetPort"] == port["name"]
        assert port["containerPort"] == ports[name] == service["ports"][0]["port"]
    assert cluster.metrics_host == "0.0.0.0"
    assert one(objects, "StatefulSet")["spec"]["serviceName"] == "bridge"


def test_bridges_side_by_side_share_and_keep_their_names(objects, settings):
    spec = one(objects, "StatefulSet")["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    (variable,) = container["env"]

    assert spec["replicas"] > 1
    assert settings.cluster.bridge.share is not None
    assert container["args"][-2:] == ["--name", f"$({variable['name']})"]
    assert variable["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"


def test_bridge_and_driver_run_commands_that_there_are(objects):
    bridge = one(objects, "StatefulSet")["spec"]["template"]["spec"]["containers"][0]["args"]
    driver = one(objects, "SparkApplication")["spec"]["arguments"]

    for words in (bridge, driver):
        with pytest.raises(SystemExit) as end:
            main([*words, "--help"])
        assert end.value.code == 0


def test_the_driver_may_make_executors_and_runs_what_the_image_has(objects):
    spec = one(objects, "SparkApplication")["spec"]
    account = one(objects, "ServiceAccount")["metadata"]["name"]
    binding = one(objects, "RoleBinding")
    image = (DEPLOY / "Containerfile.cluster").read_text(encoding="utf-8")
    project = (PROJECT / "pyproject.toml").read_text(encoding="utf-8")

    assert spec["driver"]["serviceAccount"] == account == binding["subjects"][0]["name"]
    assert binding["roleRef"]["name"] == one(objects, "Role")["metadata"]["name"]
    assert spec["mainApplicationFile"] == "local:///opt/monitor/run.py"
    assert "/opt/monitor/run.py" in image
    assert f"pyspark[sql]=={spec['sparkVersion']}" in project
    assert f"apache/spark:{spec['sparkVersion']}-" in image
    user = re.search(r"^USER (\d+):", image.split("WORKDIR /build")[1], re.MULTILINE)[1]
    assert one(objects, "StatefulSet")["spec"]["template"]["spec"]["securityContext"][
        "runAsUser"
    ] == int(user)
    assert spec["driver"]["podSecurityContext"]["fsGroup"] == int(user)
    script = re.search(r"printf '(.*)' \\\n", image)[1].replace("\\n", "\n")
    assert script.splitlines()[-1] == "sys.exit(main(sys.argv[1:]))"
    compile(script, "run.py", "exec")


def test_hadolint_finds_nothing_to_say_of_the_clusters_image():
    done = run(need_script("hadolint"), "--format", "json", DEPLOY / "Containerfile.cluster")

    assert json.loads(done.stdout) == []
    same = [DEPLOY / f"Containerfile{name}.dockerignore" for name in ("", ".cluster")]
    assert len({each.read_text(encoding="utf-8") for each in same}) == 1
