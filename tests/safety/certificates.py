"""A certificate authority for tests: signs a leaf for whatever server name a client asks for."""

from __future__ import annotations

import datetime as dt
import ssl
import tempfile
from functools import cached_property
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_FROM = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
_UNTIL = dt.datetime(2120, 1, 1, tzinfo=dt.UTC)


class Authority:
    """`asked` lists the server names of the handshakes, as clients sent them."""

    def __init__(self) -> None:
        self.asked: list[str | None] = []
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Authority of the tests")])
        self._certificate = self._sign(self._name, self._key.public_key(), None)
        self._leaf_key = ec.generate_private_key(ec.SECP256R1())
        self._contexts: dict[str, ssl.SSLContext] = {}

    @cached_property
    def client_context(self) -> ssl.SSLContext:
        """Trusts this authority and no other."""
        context = ssl.create_default_context(cadata=self._certificate.public_bytes(Encoding.PEM).decode())
        context.set_alpn_protocols(["http/1.1"])
        return context

    def server_context(self, always: str | None = None) -> ssl.SSLContext:
        """Shows a certificate for the name the client asks for, or for `always`."""
        outer = self._context_for(always or "no-name.example")

        def choose(connection: ssl.SSLObject | ssl.SSLSocket, name: str | None, _: ssl.SSLContext) -> None:
            self.asked.append(name)
            if name and not always:
                connection.context = self._context_for(name)

        outer.sni_callback = choose
        return outer

    def _context_for(self, name: str) -> ssl.SSLContext:
        if name not in self._contexts:
            leaf = self._sign(
                x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])]), self._leaf_key.public_key(), name
            )
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            with tempfile.NamedTemporaryFile(suffix=".pem") as file:  # OpenSSL reads chains from files alone
                file.write(leaf.public_bytes(Encoding.PEM))
                file.write(self._leaf_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
                file.flush()
                context.load_cert_chain(file.name)
            self._contexts[name] = context
        return self._contexts[name]

    def _sign(self, subject: x509.Name, key: ec.EllipticCurvePublicKey, name: str | None) -> x509.Certificate:
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(_FROM)
            .not_valid_after(_UNTIL)
            .add_extension(x509.BasicConstraints(ca=name is None, path_length=None), critical=True)
            .add_extension(
                _usage(signs=name is None), critical=True
            )  # Python 3.13 verifies strictly (RFC 5280 4.2.1.3)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if name is not None:
            builder = builder.add_extension(x509.SubjectAlternativeName([_alternative(name)]), critical=False)
        return builder.sign(self._key, hashes.SHA256())


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
