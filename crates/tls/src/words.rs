//! What libraries' errors about files and certificates mean, in words for a user.

use std::net::IpAddr;

use rustls_pki_types::pem;

/// Returns what is wrong with a text that should be PEM (RFC 7468).
pub(crate) fn of_pem(error: &pem::Error) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    match error {
        pem::Error::MissingSectionEnd { end_marker } => format!(
            "the line -----END {}----- is missing, so it may have been cut off",
            text(end_marker)
        ),
        pem::Error::IllegalSectionStart { line } => {
            format!("the line {:?} does not begin a section", text(line))
        }
        pem::Error::Base64Decode(_) => "a section is not Base64".to_owned(),
        error => error.to_string(),
    }
}

/// Returns what is wrong with a certificate.
pub(crate) fn of_certificate(error: &webpki::Error) -> String {
    let words = match error {
        webpki::Error::BadDer | webpki::Error::TrailingData(_) => {
            "it is no X.509 certificate in DER, or is damaged"
        }
        webpki::Error::CaUsedAsEndEntity => {
            "it is the certificate of an authority, and not that of one end of a connection"
        }
        webpki::Error::EndEntityUsedAsCa => {
            "what signed it is not the certificate of an authority (basic constraints, RFC 5280, section 4.2.1.9)"
        }
        webpki::Error::RequiredEkuNotFoundContext(_) => {
            "it is not for this end of a connection (extended key usage, RFC 5280, section 4.2.1.12)"
        }
        webpki::Error::InvalidCertValidity => "its validity ends before it begins",
        webpki::Error::NameConstraintViolation => "its authority may not certify this name",
        webpki::Error::UnsupportedCertVersion => {
            "it is not of version 3 of X.509, and so names no host ('openssl x509 -req' makes version 3 with -extfile \
             and a file that says subjectAltName=DNS:HOST)"
        }
        webpki::Error::UnsupportedCriticalExtension => {
            "it has a critical extension that is not known here"
        }
        webpki::Error::UnsupportedSignatureAlgorithmContext(_)
        | webpki::Error::UnsupportedSignatureAlgorithmForPublicKeyContext(_) => {
            "it is signed in a way that is not accepted here"
        }
        error => return error.to_string(),
    };
    words.to_owned()
}

/// Returns a name of a certificate in words, from the form in which the library that verifies certificates lists it.
pub(crate) fn of_name(listed: &str) -> String {
    let parts = listed.strip_suffix(')').and_then(|it| it.split_once('('));
    let Some((kind, inner)) = parts else {
        return listed.to_owned();
    };
    let inner = inner.trim_matches('"');
    match kind {
        "IpAddress" => match inner.parse::<IpAddr>() {
            Ok(address) => format!("the address {address}"),
            Err(_) => format!("the address {inner}"),
        },
        "DnsName" => format!("the host name {inner}"),
        "UniformResourceIdentifier" => format!("the URI {inner}"),
        _ => listed.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{of_name, of_pem};
    use rustls_pki_types::CertificateDer;
    use rustls_pki_types::pem::PemObject;

    /// A text that was cut off is described in words, not as a list of numbers.
    #[test]
    fn pem_errors_are_words() {
        let cut = "-----BEGIN CERTIFICATE-----\nMIIB\n";
        let mut found = CertificateDer::pem_slice_iter(cut.as_bytes());
        let error = found.next().expect("one").expect_err("it has no end");
        let text = of_pem(&error);
        assert!(text.contains("line -----END CERTIFICATE-----"), "{text}");
        assert!(text.contains("cut off"), "{text}");
    }

    /// A name is told with its kind: an address in the place of a host name matches nothing.
    #[test]
    fn names_have_their_kind() {
        for (listed, words) in [
            ("DnsName(\"127.0.0.1\")", "the host name 127.0.0.1"),
            ("IpAddress(192.0.2.1)", "the address 192.0.2.1"),
            ("IpAddress(0::1)", "the address ::1"),
            ("UniformResourceIdentifier(\"sip:x\")", "the URI sip:x"),
            ("DirectoryName", "DirectoryName"),
        ] {
            assert_eq!(of_name(listed), words);
        }
    }
}
