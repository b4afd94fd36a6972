//! What libraries' errors about files and certificates mean, in words for a user.

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
        webpki::Error::UnsupportedCertVersion => "it is not of version 3 of X.509",
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

/// Returns a name of a certificate, as the library that verifies certificates lists it, without the kind of the name.
pub(crate) fn of_name(listed: &str) -> String {
    let inner = listed
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(listed).trim_matches('"').to_owned()
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

    /// Names lose the kind that the library puts around them.
    #[test]
    fn names_are_plain() {
        for (listed, plain) in [
            ("DnsName(\"example.org\")", "example.org"),
            ("IpAddress(192.0.2.1)", "192.0.2.1"),
            ("UniformResourceIdentifier(\"sip:x\")", "sip:x"),
            ("DirectoryName", "DirectoryName"),
        ] {
            assert_eq!(of_name(listed), plain);
        }
    }
}
