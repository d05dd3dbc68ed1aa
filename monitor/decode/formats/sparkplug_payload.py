"""The protobuf messages of Sparkplug B, as far as they are read.

Field numbers and types are those of the public specification (Eclipse Sparkplug 3.0, chapter 6 and
its sparkplug_b.proto); what is not listed is skipped, as protobuf allows.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from monitor.decode.checks import Rejected

_PACKAGE: Final = "org.eclipse.tahu.protobuf"
_FIELD: Final = descriptor_pb2.FieldDescriptorProto
_KINDS: Final = {
    "uint32": _FIELD.TYPE_UINT32,
    "uint64": _FIELD.TYPE_UINT64,
    "float": _FIELD.TYPE_FLOAT,
    "double": _FIELD.TYPE_DOUBLE,
    "bool": _FIELD.TYPE_BOOL,
    "string": _FIELD.TYPE_STRING,
}
# message: (number, name, type, repeated); a type that is not a scalar is a message.
_MESSAGES: Final = {
    "PropertyValue": (
        (1, "type", "uint32", False),
        (2, "is_null", "bool", False),
        (3, "int_value", "uint32", False),
        (4, "long_value", "uint64", False),
        (5, "float_value", "float", False),
        (6, "double_value", "double", False),
        (8, "string_value", "string", False),
    ),
    "PropertySet": (
        (1, "keys", "string", True),
        (2, "values", "PropertyValue", True),
    ),
    "Metric": (
        (1, "name", "string", False),
        (2, "alias", "uint64", False),
        (3, "timestamp", "uint64", False),
        (4, "datatype", "uint32", False),
        (5, "is_historical", "bool", False),
        (6, "is_transient", "bool", False),
        (7, "is_null", "bool", False),
        (9, "properties", "PropertySet", False),
        (10, "int_value", "uint32", False),
        (11, "long_value", "uint64", False),
        (12, "float_value", "float", False),
        (13, "double_value", "double", False),
        (14, "boolean_value", "bool", False),
        (15, "string_value", "string", False),
    ),
    "Payload": (
        (1, "timestamp", "uint64", False),
        (2, "metrics", "Metric", True),
        (3, "seq", "uint64", False),
    ),
}


def _message_class() -> Any:  # noqa: ANN401 - made at run time, so that no type is known
    file = descriptor_pb2.FileDescriptorProto(
        name="sparkplug_b_read.proto", package=_PACKAGE, syntax="proto2"
    )
    for message, fields in _MESSAGES.items():
        described = file.message_type.add(name=message)
        for number, name, kind, repeated in fields:
            field = described.field.add(name=name, number=number)
            field.label = _FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL
            if kind in _KINDS:
                field.type = _KINDS[kind]
            else:
                field.type = _FIELD.TYPE_MESSAGE
                field.type_name = f".{_PACKAGE}.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.Payload"))


Payload: Final = _message_class()


def read_payload(payload: bytes) -> Any:  # noqa: ANN401 - as above
    """Return the message in ``payload``; raises Rejected."""
    try:
        return Payload.FromString(payload)
    except (DecodeError, ValueError) as error:
        raise Rejected("bad_payload", f"not a Sparkplug B payload: {error}") from error
