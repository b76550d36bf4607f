package appkey

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/needs"
)

var testKey = sync.OnceValue(newKey)

func newKey() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
}

func testPEM() []byte { return encoded(testKey()) }

func encoded(k *rsa.PrivateKey) []byte {
	der := x509.MarshalPKCS1PrivateKey(k)
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: der})
}

// signs checks that a key makes the signatures of another.
func signs(t *testing.T, k *Key, as *rsa.PrivateKey) {
	t.Helper()
	digest := sha256.Sum256([]byte("header.claims"))
	signature, err := k.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	if err := rsa.VerifyPKCS1v15(&as.PublicKey, crypto.SHA256, digest[:], signature); err != nil {
		t.Error(err)
	}
}

func TestKeysRotate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key.pem")
	at := time.Now().Add(-time.Hour)
	write := func(text []byte) {
		t.Helper()
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Second)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write(testPEM())
	k, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	signs(t, k, testKey())
	if changed, err := k.Reload(); changed || err != nil {
		t.Error(changed, err)
	}
	write([]byte("half of a key"))
	if changed, err := k.Reload(); changed || err == nil {
		t.Error(changed, err)
	}
	signs(t, k, testKey())
	next := newKey()
	write(encoded(next))
	if changed, err := k.Reload(); !changed || err != nil {
		t.Error(changed, err)
	}
	signs(t, k, next)
	if !next.PublicKey.Equal(k.Public()) {
		t.Error("the public key is another one")
	}
}

// script writes an executable shell script.
func script(t *testing.T, text string) string {
	t.Helper()
	needs.Program(t, "sh", "dash", "a program that signs is not started")
	path := filepath.Join(t.TempDir(), "sign")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// OpenSSL stands for the client of a key management service: the key is not in this process.
func TestProgramSigns(t *testing.T) {
	needs.Program(t, "openssl", "openssl", "no program signs")
	path := filepath.Join(t.TempDir(), "token.pem")
	if err := os.WriteFile(path, testPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	k := Program(script(t, "exec openssl pkeyutl -sign -inkey '"+path+"' -pkeyopt digest:sha256"))
	signs(t, k, testKey())
	if k.Public() != nil {
		t.Error("a public key without a key")
	}
}

func TestProgramFails(t *testing.T) {
	digest := make([]byte, sha256.Size)
	for name, c := range map[string]struct{ text, want string }{
		"silent":  {"exit 3", "exit status 3: it wrote nothing to stderr"},
		"fails":   {"echo 'no such key' >&2; exit 3", "exit status 3: no such key"},
		"nothing": {"exit 0", "did not write an RSA signature"},
		"a page":  {"head -c 4000 /dev/zero", "did not write an RSA signature"},
	} {
		_, err := Program(script(t, c.text)).Sign(rand.Reader, digest, crypto.SHA256)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	none := filepath.Join(t.TempDir(), "none")
	for path, want := range map[string]string{
		none:            "cannot be started: fork/exec " + none + ": no such file or directory",
		none + " --key": "the whole value is its path, without arguments",
	} {
		_, err := Program(path).Sign(rand.Reader, digest, crypto.SHA256)
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func TestOtherSignatures(t *testing.T) {
	k, err := Parse(testPEM())
	if err != nil {
		t.Fatal(err)
	}
	digest := make([]byte, sha256.Size)
	for name, o := range map[string]crypto.SignerOpts{
		"SHA-1": crypto.SHA1, "PSS": &rsa.PSSOptions{Hash: crypto.SHA256},
	} {
		if _, err := k.Sign(rand.Reader, digest, o); err == nil {
			t.Errorf("%s: signed", name)
		}
	}
}

func TestKeysAreNeverShown(t *testing.T) {
	k, err := Parse(testPEM())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "key", k)
	fmt.Fprintf(&out, "%v %+v %#v %s %q %x %d", k, k, k, k, k, k, k)
	text, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(text)
	d := testKey().D
	for _, secret := range []string{"BEGIN", d.String(), fmt.Sprintf("%x", d.Bytes())[:32]} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("the key is shown: %s", out.String())
		}
	}
}
