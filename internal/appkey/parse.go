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
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	any, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("contains neither a PKCS#1 nor a PKCS#8 key without a passphrase")
	}
	key, ok := any.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("contains a key that is not RSA (%T); GitHub Apps sign with RSA", any)
	}
	return key, nil
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
