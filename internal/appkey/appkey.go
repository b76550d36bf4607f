// Package appkey signs with the private key of the GitHub App. The key is in the environment, in a
// file that is read again when it changes, or only known to a program: that of a key management
// service or a PKCS #11 token.
//
//	key, err := appkey.Read("/etc/compat/key.pem")
//	signature, err := key.Sign(rand.Reader, digest, crypto.SHA256)
//
// A Key has no exported content and prints as ***.
package appkey

import (
	"crypto"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"

	"github.com/compat-app/compat/internal/secretfile"
)

// Key signs for the App. It implements crypto.Signer, for PKCS #1 v1.5 with SHA-256 (RS256), and is
// safe for concurrent use, except for Reload.
type Key struct {
	file    *secretfile.File // nil: it does not change
	now     atomic.Pointer[rsa.PrivateKey]
	program string // signs instead of a key
}

// Parse returns the key of a PEM; see docs/config.md for its forms. The error has no byte of the
// key.
func Parse(text []byte) (*Key, error) {
	parsed, err := parse(text)
	if err != nil {
		return nil, err
	}
	k := &Key{}
	k.now.Store(parsed)
	return k, nil
}

// Read returns the key in a file.
func Read(path string) (*Key, error) {
	k := &Key{file: secretfile.At(path)}
	if _, err := k.Reload(); err != nil {
		return nil, err
	}
	return k, nil
}

// Program returns the key that a program signs with. The program is started for each signature,
// without arguments. It reads the SHA-256 digest (32 bytes) from stdin and writes the signature
// (RSASSA-PKCS1-v1_5, as many bytes as the modulus) to stdout within ten seconds.
func Program(path string) *Key { return &Key{program: path} }

// Reload reads the file again if it has changed, and reports whether there is another key. After an
// error the earlier key stays in use. Without a file it does nothing.
func (k *Key) Reload() (changed bool, _ error) {
	if k.file == nil {
		return false, nil
	}
	text, err := k.file.Read()
	if err != nil || text == nil {
		return false, err
	}
	parsed, err := parse(text)
	if err != nil {
		return false, err
	}
	old := k.now.Swap(parsed)
	return old == nil || !old.Equal(parsed), nil
}

// Public implements crypto.Signer. It returns nil if a program signs.
func (k *Key) Public() crypto.PublicKey {
	if parsed := k.now.Load(); parsed != nil {
		return parsed.Public()
	}
	return nil
}

// Sign implements crypto.Signer. It expects a SHA-256 digest.
func (k *Key) Sign(random io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	if opts.HashFunc() != crypto.SHA256 || len(digest) != crypto.SHA256.Size() {
		return nil, errors.New("only SHA-256 digests are signed")
	}
	if _, pss := opts.(*rsa.PSSOptions); pss {
		return nil, errors.New("only PKCS #1 v1.5 signatures are made")
	}
	if k.program != "" {
		return run(k.program, digest)
	}
	return rsa.SignPKCS1v15(random, k.now.Load(), crypto.SHA256, digest)
}

// String implements fmt.Stringer.
func (*Key) String() string { return "***" }

// Format implements fmt.Formatter, for every verb.
func (*Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "***") }

// LogValue implements slog.LogValuer.
func (*Key) LogValue() slog.Value { return slog.StringValue("***") }

// MarshalText implements encoding.TextMarshaler.
func (*Key) MarshalText() ([]byte, error) { return []byte("***"), nil }
