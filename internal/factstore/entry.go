package factstore

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/facts"
)

// An entry is a head, the signature of the head and of the digest, the digest of the facts, and the
// facts. Nothing of the facts is read before digest and signature were compared.
//
//	compat-facts 1-0a1b2c3d SHA256-OF-THE-WHEEL\n
//	64 bytes: Ed25519 signature, or zeros
//	32 bytes: SHA-256 of the facts
//	facts, see facts.Encode

// head binds an entry to its wheel and to its format.
func head(wheel string) string { return "compat-facts " + facts.Format() + " " + wheel + "\n" }

// write returns the entry of a wheel; key nil = without a signature.
func write(found []byte, wheel string, key ed25519.PrivateKey) []byte {
	sum := sha256.Sum256(found)
	signature := make([]byte, ed25519.SignatureSize)
	if key != nil {
		signature = ed25519.Sign(key, append([]byte(head(wheel)), sum[:]...))
	}
	return slices.Concat([]byte(head(wheel)), signature, sum[:], found)
}

var (
	errOther     = errors.New("an entry is of another wheel or format")
	errDamaged   = errors.New("an entry is damaged")
	errSignature = errors.New("an entry is not signed with a key of COMPAT_FACTS_KEY")
)

// read returns the facts of an entry. keys nil = it needs no signature.
func read(entry []byte, wheel string, keys []ed25519.PublicKey) ([]byte, error) {
	first, rest, ok := strings.Cut(string(entry[:min(len(entry), len(head(wheel)))]), "\n")
	if !ok || rest != "" || first+"\n" != head(wheel) {
		return nil, errOther
	}
	entry = entry[len(head(wheel)):]
	if len(entry) < ed25519.SignatureSize+sha256.Size {
		return nil, errDamaged
	}
	signature, entry := entry[:ed25519.SignatureSize], entry[ed25519.SignatureSize:]
	sum, found := entry[:sha256.Size], entry[sha256.Size:]
	if [sha256.Size]byte(sum) != sha256.Sum256(found) {
		return nil, errDamaged
	}
	message := append([]byte(head(wheel)), sum...)
	if keys != nil && !slices.ContainsFunc(keys, func(k ed25519.PublicKey) bool {
		return ed25519.Verify(k, message, signature)
	}) {
		return nil, errSignature
	}
	return found, nil
}

func parseKey(text string) (ed25519.PublicKey, error) {
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("%.60q is not a public key; 'compat facts key FILE' prints it", text)
	}
	return key, nil
}

// PublicKey returns the text of the public key, as Open takes it.
func PublicKey(key ed25519.PrivateKey) string {
	return base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
}

// LoadKey reads a private key from a PEM file, as openssl genpkey -algorithm ed25519 writes it.
func LoadKey(file string) (ed25519.PrivateKey, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s is not a PEM file; 'compat facts key FILE' makes one", file)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s has a key of another kind; 'compat facts key FILE' makes one", file)
	}
	return key, nil
}

// MakeKey reads the private key in a file, or writes a new one if there is no file.
func MakeKey(file string) (ed25519.PrivateKey, error) {
	key, err := LoadKey(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	_, key, err = ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(text)
	return key, errors.Join(err, f.Close())
}
