package appkey

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	p1 := string(testPEM())
	der, err := x509.MarshalPKCS8PrivateKey(testKey())
	if err != nil {
		t.Fatal(err)
	}
	p8 := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	for kind, s := range map[string]string{"PKCS#1": p1, "PKCS#8": p8} {
		for form, text := range map[string]string{
			"as it is":       s,
			"spaces around":  "\n  " + s + "\n\n",
			"CRLF":           strings.ReplaceAll(s, "\n", "\r\n"),
			"\\n":            strings.ReplaceAll(s, "\n", `\n`),
			"\\r\\n":         strings.ReplaceAll(s, "\n", `\r\n`),
			"quoted":         `"` + strings.ReplaceAll(s, "\n", `\n`) + `"`,
			"spaces":         strings.TrimSpace(strings.ReplaceAll(s, "\n", " ")),
			"no line breaks": strings.ReplaceAll(s, "\n", ""),
			"base64":         base64.StdEncoding.EncodeToString([]byte(s)),
			"base64 in lines": strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte(s)), "A",
				"A\n"),
			"indented (a YAML)": strings.ReplaceAll(s, "\n", "\n    "),
		} {
			key, err := parse([]byte(text))
			if err != nil || !key.Equal(testKey()) {
				t.Errorf("%s, %s: %v", kind, form, err)
			}
		}
	}
	ec, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	der, _ = x509.MarshalPKCS8PrivateKey(ec)
	block := func(kind string) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":   {" ", "is empty"},
		"text":    {"not a key", "neither a PEM file"},
		"cut":     {p1[:800], "not a complete PEM file"},
		"damaged": {strings.Replace(p1, "MII", "AAA", 1), "neither a PKCS#1 nor a PKCS#8 key"},
		"public":  {block("PUBLIC KEY"), "contains a public key"},
		"PKCS#1 public": {string(pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY",
			Bytes: x509.MarshalPKCS1PublicKey(&testKey().PublicKey)})), "contains a public key"},
		"certificate": {block("CERTIFICATE"), "contains a certificate"},
		"OpenSSH":     {block("OPENSSH PRIVATE KEY"), "contains a key of OpenSSH"},
		"EC":          {block("PRIVATE KEY"), "contains a key that is not RSA"},
		"EC of SEC 1": {block("EC PRIVATE KEY"), "contains a key that is not RSA"},
		"encrypted": {"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: " +
			"AES-128-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----", "has a passphrase"},
		"encrypted PKCS#8": {block("ENCRYPTED PRIVATE KEY"), "has a passphrase"},
	} {
		if _, err := parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "MII") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An accepted key can sign, and the error for others does not contain the input.
func FuzzParse(f *testing.F) {
	f.Add(testPEM())
	f.Add([]byte("-----BEGIN RSA PRIVATE KEY-----\n-----END RSA PRIVATE KEY-----"))
	f.Add([]byte(base64.StdEncoding.EncodeToString(testPEM())))
	f.Fuzz(func(t *testing.T, text []byte) {
		key, err := parse(text)
		if err == nil && key.Validate() != nil {
			t.Error("an invalid key")
		}
		if err != nil && len(err.Error()) > 600 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	})
}
