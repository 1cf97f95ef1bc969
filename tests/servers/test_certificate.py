"""The certificate of a sandbox."""

import stat
from pathlib import Path

from cryptography import x509

from ibench_lib.servers.certificate import make_certificate


def test_it_is_for_one_address_and_its_key_is_private(tmp_path: Path) -> None:
    path = make_certificate(tmp_path, "127.0.0.1")
    key = path.with_suffix(".key")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600 and b"PRIVATE KEY" in key.read_bytes()
    certificate = x509.load_pem_x509_certificate(path.read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
    certificate.verify_directly_issued_by(certificate)
