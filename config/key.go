package config

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"os"
	"strings"
)

// maxKey is the limit of the key file in bytes; the PEM of an RSA key is far smaller.
const maxKey = 64 << 10

// key reads PRIVATE_KEY, or the file that PRIVATE_KEY_PATH names. Besides PEM it accepts base64 of
// the PEM and PEM with an escaped \n for each newline, for tools that do not allow newlines in
// variables.
func (env environment) key(s *Service) error {
	v, path := env("PRIVATE_KEY"), env("PRIVATE_KEY_PATH")
	switch {
	case v != "":
		key, err := parseKey([]byte(v))
		if err != nil {
			return bad(
				"PRIVATE_KEY",
				"%v; set it to the PEM file of the GitHub App's private key (with newlines, with \\n for "+
					"newlines, or base64-encoded)",
				err,
			)
		}
		s.PrivateKey = key
	case path != "":
		data, err := readKey(path)
		if err != nil {
			return bad(
				"PRIVATE_KEY_PATH",
				"%v; set it to the path of the GitHub App's private key",
				err,
			)
		}
		if s.PrivateKey, err = parseKey(data); err != nil {
			return bad(
				"PRIVATE_KEY_PATH",
				"%s: %v; set it to the path of the GitHub App's private key",
				quote(path),
				err,
			)
		}
	default:
		return bad(
			"PRIVATE_KEY",
			"is not set, and neither is PRIVATE_KEY_PATH; set one of them to the private key of the "+
				"GitHub App",
		)
	}
	return nil
}

func readKey(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, errors.New(oneLine(err.Error()))
	}
	if !info.Mode().IsRegular() || info.Size() > maxKey {
		return nil, errors.New(quote(path) + " is not a file of at most 64 KiB")
	}
	return os.ReadFile(path)
}

// parseKey returns the RSA private key as PEM. Its errors contain no part of the key.
func parseKey(data []byte) (Secret, error) {
	data = bytes.TrimSpace(data)
	if !bytes.HasPrefix(data, []byte("-----BEGIN")) {
		raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(data)), ""))
		if err != nil {
			return nil, errors.New("is neither a PEM file nor base64 of one")
		}
		data = bytes.TrimSpace(raw)
	}
	if !bytes.Contains(data, []byte("\n")) {
		data = bytes.ReplaceAll(data, []byte(`\n`), []byte("\n"))
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New("is not a complete PEM file")
	}
	if _, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return Secret(pem.EncodeToMemory(block)), nil
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("contains no readable private key")
	}
	r, ok := key.(*rsa.PrivateKey)
	if !ok {
		return nil, errors.New("contains a key that is not RSA; GitHub Apps sign with RSA")
	}
	return Secret(
		pem.EncodeToMemory(
			&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(r)},
		),
	), nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
