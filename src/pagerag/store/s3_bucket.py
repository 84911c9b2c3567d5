"""The few requests to an object store that a corpus needs, and its errors in our words.

Keys and endpoint come from where the S3 client looks for them itself (environment, profile, the machine's
role; ``AWS_ENDPOINT_URL_S3`` for other servers), never from a store's address.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pagerag._extras import need
from pagerag.errors import InputError, StoreError
from pagerag.store.problems import SAFE

_CONNECT_SECONDS = 5
_SILENT_SECONDS = 15.0  # without a byte, and then the request is made again ...
_ATTEMPTS = 3  # so that a server that never answers is given up after three quarters of a minute
_MISSING = {"NoSuchKey", "404", "NotFound"}
_LOST = {"PreconditionFailed", "ConditionalRequestConflict", "412", "409"}
_REMEDIES = {
    "NoSuchBucket": "the bucket does not exist: make it first",
    **dict.fromkeys(("AccessDenied", "403"), "these credentials may not do that: check the bucket's policy"),
    "InvalidAccessKeyId": "the credentials are not known there: check the environment or profile",
    "SignatureDoesNotMatch": "the credentials do not fit: check the environment or profile",
    "ExpiredToken": "the credentials have expired: renew them",
    "NotImplemented": "this server has no conditional writes (If-Match), which keep writers apart",
}


class Missing(Exception):  # noqa: N818 - it never leaves the engine
    """There is no such object."""


class Lost(Exception):  # noqa: N818 - it never leaves the engine
    """Another writer was first: the object is not the one that was to be replaced."""


class Unchanged(Exception):  # noqa: N818 - it never leaves the engine
    """The object is still the one with the tag that was given."""


class Stored(NamedTuple):
    """An object's content, and the tag by which it can be replaced."""

    body: bytes
    tag: str


class Bucket:
    """A prefix in a bucket. Thread-safe."""

    def __init__(self, location: str) -> None:
        parts = urlsplit(location)
        if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
            raise InputError(
                "an s3:// address is s3://BUCKET/PREFIX and nothing else: credentials and endpoint come from "
                "the environment or your AWS profile (AWS_PROFILE, AWS_ENDPOINT_URL_S3)"
            )
        if not parts.hostname or not parts.netloc:
            raise InputError(f"{location} names no bucket; an address is s3://BUCKET/PREFIX")
        self.name, self.prefix = parts.netloc, parts.path.strip("/")
        self.location = f"s3://{self.name}/{self.prefix}".rstrip("/")
        boto3 = need("boto3", "boto3", "s3", "for s3:// stores")
        config = need("botocore.config", "boto3", "s3").Config(
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=_SILENT_SECONDS,
            retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
            # An old server may not know the new check sums; ours are in the manifest.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        self._errors = need("botocore.exceptions", "boto3", "s3")
        self._transfer_failed = need("boto3.exceptions", "boto3", "s3").Boto3Error
        with self._explained("opening"):
            self._client = boto3.session.Session().client("s3", config=config)

    def get(self, key: str, *, unless: str | None = None) -> Stored:
        """Return an object; raise Unchanged if it is still the one with the tag ``unless``."""
        options = {} if unless is None else {"IfNoneMatch": unless}
        with self._explained("reading"):
            found = self._client.get_object(Bucket=self.name, Key=self._key(key), **options)
            return Stored(found["Body"].read(), found["ETag"])

    def download(self, key: str, file: str) -> None:
        """Write an object to a file."""
        with self._explained("reading"):
            self._client.download_file(self.name, self._key(key), file)

    def upload(self, key: str, file: str) -> None:
        """Store a file under a key that nobody else uses."""
        with self._explained("writing to"):
            self._client.upload_file(file, self.name, self._key(key))

    def put(self, key: str, body: bytes, **condition: str) -> str:
        """Store an object under a key that nobody else uses; return its tag."""
        with self._explained("writing to"):
            done = self._client.put_object(Bucket=self.name, Key=self._key(key), Body=body, **condition)
            return str(done["ETag"])

    def swap(self, key: str, body: bytes, tag: str | None) -> str:
        """Replace the object that has this tag, or make it where ``tag`` is None; raise Lost otherwise."""
        return self.put(key, body, **({"IfNoneMatch": "*"} if tag is None else {"IfMatch": tag}))

    def objects(self) -> Iterator[tuple[str, Any, int]]:
        """Yield key, time of the last change and size of every object below the prefix."""
        start = f"{self.prefix}/" if self.prefix else ""
        with self._explained("reading"):
            pages = self._client.get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self.name, Prefix=start):
                for one in page.get("Contents", ()):
                    yield one["Key"][len(start) :], one["LastModified"], int(one["Size"])

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects; those that are gone already do not matter."""
        for key in keys:
            with self._explained("deleting from"):
                self._client.delete_object(Bucket=self.name, Key=self._key(key))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _key(self, key: str) -> str:
        return f"{self.prefix}/{key}" if self.prefix else key

    @contextmanager
    def _explained(self, doing: str) -> Iterator[None]:
        """Turn what the client raises into Missing, Lost or a StoreError; keys are in none of them."""
        try:
            yield
        except self._errors.ClientError as problem:
            code = str(problem.response.get("Error", {}).get("Code", ""))
            status = problem.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            if code in ("304", "NotModified") or status == 304:
                raise Unchanged from problem
            if code in _MISSING:
                raise Missing from problem
            if code in _LOST or status in (409, 412):
                raise Lost from problem
            raise self._failed(doing, _REMEDIES.get(code) or f"the server said {code or status}") from problem
        except (self._errors.NoCredentialsError, self._errors.PartialCredentialsError) as problem:
            advice = (
                "there are no credentials; set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            )
            raise self._failed(doing, advice) from problem
        except self._errors.ReadTimeoutError as problem:
            silent = (
                f"the server took the request and said nothing for {_SILENT_SECONDS:g} s, {_ATTEMPTS} times"
            )
            advice = f"{silent}; check that AWS_ENDPOINT_URL_S3 is an S3 server"
            raise self._failed(doing, advice) from problem
        except self._transfer_failed as problem:
            # What sends a file wraps what went wrong in an error of its own.
            raise self._failed(doing, " ".join(str(problem).split())[:400]) from problem
        except (self._errors.BotoCoreError, self._errors.HTTPClientError, OSError) as problem:
            away = f"the server cannot be reached ({type(problem).__name__})"
            raise self._failed(doing, f"{away}; check the network and AWS_ENDPOINT_URL_S3") from problem

    def _failed(self, doing: str, remedy: str) -> StoreError:
        return StoreError(f"{doing} the store {self.location} failed: {remedy}. {SAFE}")
