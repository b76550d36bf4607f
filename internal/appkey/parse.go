package appkey

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

// parse parses an RSA private key as people store it in environment variables: PEM in PKCS#1
// (GitHub's format) or PKCS#8, with newlines, escaped newlines or spaces, quoted, or any of these
// in base64. The error never contains a byte of the key.
func parse(text []byte) (*rsa.PrivateKey, error) {
	s := strings.Trim(strings.TrimSpace(string(text)), `"'`)
	s = strings.NewReplacer(`\r`, "", `\n`, "\n", "\r", "").Replace(s)
	if s == "" {
		return nil, errors.New("is empty")
	}
	if !strings.Contains(s, "-----BEGIN") {
		raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s), ""))
		if err != nil || !bytes.Contains(raw, []byte("-----BEGIN")) {
			return nil, errors.New(
				"is neither a PEM file (-----BEGIN RSA PRIVATE KEY-----) nor base64 of one",
			)
		}
		s = string(raw)
	}
	block, _ := pem.Decode([]byte(restoreLines(s)))
	if block == nil {
		return nil, errors.New(
			"is not a complete PEM file: it needs a BEGIN and an END line and base64 between them",
		)
	}
	if other := otherKind(block); other != "" {
		return nil, errors.New(other)
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	any, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("contains neither a PKCS#1 nor a PKCS#8 key without a passphrase")
	}
	key, ok := any.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("contains a key that is not RSA (%T)", any)
	}
	return key, nil
}

// otherKind returns what a PEM block contains that is no private key for GitHub, or "" if it may be
// one.
func otherKind(block *pem.Block) string {
	switch kind := block.Type; {
	case kind == "ENCRYPTED PRIVATE KEY", block.Headers["DEK-Info"] != "":
		return "has a passphrase"
	case strings.HasSuffix(kind, "PUBLIC KEY"):
		return "contains a public key"
	case kind == "CERTIFICATE":
		return "contains a certificate"
	case kind == "OPENSSH PRIVATE KEY":
		return "contains a key of OpenSSH, which is neither PKCS#1 nor PKCS#8"
	case kind == "EC PRIVATE KEY":
		return "contains a key that is not RSA"
	}
	return ""
}

// restoreLines restores the line breaks around BEGIN and END of a PEM that has lost them.
func restoreLines(s string) string {
	head, rest, ok := strings.Cut(s, "-----BEGIN ")
	kind, body, ok2 := strings.Cut(rest, "-----")
	body, _, ok3 := strings.Cut(body, "-----END ")
	if !ok || !ok2 || !ok3 || strings.TrimSpace(head) != "" || strings.Contains(body, ":") {
		return s
	}
	return "-----BEGIN " + kind + "-----\n" + strings.Join(
		strings.Fields(body),
		"\n",
	) + "\n-----END " + kind + "-----\n"
}
