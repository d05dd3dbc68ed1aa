"""JSON schemas of the custom resources that deploy/ has: the fields of the operators' own CRDs.

Taken from kubeflow/spark-operator api/v1beta2/sparkapplication_types.go and from Strimzi's CRDs of
version v1 (0.49 and newer). What Kubernetes itself defines (volumes, mounts, security contexts) is
``{}`` here: it is held against Kubernetes' own schema as parts of a pod.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer", "minimum": 1}
ANY: Schema = {}
FLAG: Schema = {"type": "boolean"}
TEXTS: Schema = {"type": "object", "additionalProperties": TEXT}


def closed(required: tuple[str, ...] = (), **fields: Schema) -> Schema:
    """Return the schema of an object with these fields and no others."""
    return {
        "type": "object",
        "properties": fields,
        "required": list(required),
        "additionalProperties": False,
    }


def of_kind(version: str, kind: str, spec: Schema) -> Schema:
    """Return the schema of a custom resource."""
    return closed(
        ("apiVersion", "kind", "metadata", "spec"),
        apiVersion={"const": version},
        kind={"const": kind},
        metadata={"type": "object", "required": ["name"]},
        spec=spec,
    )


_POD: dict[str, Schema] = {
    **dict.fromkeys(
        ("template", "gpu", "configMaps", "secrets", "env", "envFrom", "envSecretKeyRefs"), ANY
    ),
    **dict.fromkeys(("affinity", "tolerations", "podSecurityContext", "securityContext"), ANY),
    **dict.fromkeys(("sidecars", "initContainers", "dnsConfig", "hostAliases", "lifecycle"), ANY),
    **dict.fromkeys(("envVars", "labels", "annotations", "nodeSelector"), TEXTS),
    **dict.fromkeys(("coreLimit", "coreRequest", "memory", "memoryOverhead", "image"), TEXT),
    **dict.fromkeys(("schedulerName", "serviceAccount", "runtimeClassName"), TEXT),
    **dict.fromkeys(("javaOptions", "priorityClassName"), TEXT),
    **dict.fromkeys(("hostNetwork", "shareProcessNamespace"), FLAG),
    "cores": NUMBER,
    "terminationGracePeriodSeconds": {"type": "integer"},
    "volumeMounts": {"type": "array"},
    "ports": {
        "type": "array",
        "items": closed(
            ("name", "protocol", "containerPort"), name=TEXT, protocol=TEXT, containerPort=NUMBER
        ),
    },
}
SPARK = of_kind(
    "sparkoperator.k8s.io/v1beta2",
    "SparkApplication",
    closed(
        ("type", "sparkVersion", "mainApplicationFile", "driver", "executor"),
        type={"enum": ["Java", "Python", "Scala", "R"]},
        mode={"enum": ["cluster", "client"]},
        pythonVersion={"enum": ["2", "3"]},
        arguments={"type": "array", "items": TEXT},
        imagePullSecrets={"type": "array", "items": TEXT},
        restartPolicy=closed(
            type={"enum": ["Never", "Always", "OnFailure"]},
            onSubmissionFailureRetries={"type": "integer", "minimum": 0},
            onFailureRetries={"type": "integer", "minimum": 0},
            onSubmissionFailureRetryInterval=NUMBER,
            onFailureRetryInterval=NUMBER,
        ),
        volumes={"type": "array"},
        driver=closed(
            **_POD,
            podName=TEXT,
            kubernetesMaster=TEXT,
            serviceAnnotations=TEXTS,
            serviceLabels=TEXTS,
        ),
        executor=closed(**_POD, instances=NUMBER, deleteOnTermination=FLAG),
        **dict.fromkeys(("sparkConf", "hadoopConf", "nodeSelector"), TEXTS),
        **dict.fromkeys(("sparkVersion", "proxyUser", "image", "imagePullPolicy"), TEXT),
        **dict.fromkeys(("mainClass", "mainApplicationFile", "batchScheduler"), TEXT),
        **dict.fromkeys(("sparkConfigMap", "hadoopConfigMap", "memoryOverheadFactor"), TEXT),
        **dict.fromkeys(("failureRetries", "retryInterval", "timeToLiveSeconds"), NUMBER),
        **dict.fromkeys(("deps", "monitoring", "batchSchedulerOptions", "sparkUIOptions"), ANY),
        **dict.fromkeys(("driverIngressOptions", "dynamicAllocation"), ANY),
    ),
)
_VOLUME: dict[str, Schema] = {
    "class": TEXT,
    "deleteClaim": FLAG,
    "id": {"type": "integer", "minimum": 0},
    "kraftMetadata": {"enum": ["shared"]},
    "selector": TEXTS,
    "size": TEXT,
    "sizeLimit": TEXT,
}
POOL = of_kind(
    "kafka.strimzi.io/v1",
    "KafkaNodePool",
    closed(
        ("replicas", "storage", "roles"),
        replicas={"type": "integer", "minimum": 0},
        roles={"type": "array", "items": {"enum": ["controller", "broker"]}},
        storage=closed(
            ("type",),
            **_VOLUME,
            type={"enum": ["ephemeral", "persistent-claim", "jbod"]},
            volumes={
                "type": "array",
                "items": closed(
                    ("type",), **_VOLUME, type={"enum": ["ephemeral", "persistent-claim"]}
                ),
            },
        ),
        resources=ANY,
        jvmOptions=ANY,
        template=ANY,
    ),
)
KAFKA = of_kind(
    "kafka.strimzi.io/v1",
    "Kafka",
    closed(
        ("kafka",),
        kafka=closed(
            ("listeners",),
            **dict.fromkeys(("version", "metadataVersion", "image", "brokerRackInitImage"), TEXT),
            **dict.fromkeys(("authorization", "rack", "livenessProbe", "readinessProbe"), ANY),
            **dict.fromkeys(("jvmOptions", "jmxOptions", "metricsConfig", "logging"), ANY),
            **dict.fromkeys(("template", "tieredStorage", "quotas"), ANY),
            config={"type": "object"},
            listeners={
                "type": "array",
                "minItems": 1,
                "items": closed(
                    ("name", "port", "type", "tls"),
                    name={"type": "string", "pattern": "^[a-z0-9]{1,11}$"},
                    port={"type": "integer", "minimum": 9092},
                    type={"enum": ["internal", "route", "loadbalancer", "nodeport", "ingress"]},
                    tls=FLAG,
                    authentication=ANY,
                    configuration=ANY,
                    networkPolicyPeers=ANY,
                ),
            },
        ),
        entityOperator=closed(topicOperator=ANY, userOperator=ANY, template=ANY),
        **dict.fromkeys(("clusterCa", "clientsCa", "cruiseControl", "kafkaExporter"), ANY),
        maintenanceTimeWindows=ANY,
    ),
)
TOPIC = of_kind(
    "kafka.strimzi.io/v1",
    "KafkaTopic",
    closed(
        topicName=TEXT,
        partitions=NUMBER,
        replicas={"type": "integer", "minimum": 1, "maximum": 32767},
        config={"type": "object"},
    ),
)
SCHEMAS = {each["properties"]["kind"]["const"]: each for each in (SPARK, POOL, KAFKA, TOPIC)}
