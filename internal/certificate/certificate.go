// Package certificate says what to do about the certificate of a server that this machine does not
// accept.
//
//	if next := certificate.Next(err, "GITHUB_API_URL"); next != "" {
package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
)

// Next returns what to do about an error of a connection, as a part of a sentence: "" if the
// certificate is not the reason. setting is the variable or flag with the address.
func Next(err error, setting string) string {
	var refused *tls.CertificateVerificationError
	if !errors.As(err, &refused) {
		return ""
	}
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &name):
		return "write a host name of the certificate in " + setting
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "renew the certificate of the server, or correct the clock of this machine"
	}
	// Go adds SSL_CERT_DIR to the certificates of the system; SSL_CERT_FILE replaces them.
	return "put the certificate of the server's authority in a folder and set SSL_CERT_DIR to the " +
		"folder, or install the package ca-certificates if this machine has no certificates"
}
