package config

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var testKey = sync.OnceValue(func() string {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return string(
		pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(k)}),
	)
})

// env returns a valid environment, changed by over; the value "-" removes a variable.
func env(over map[string]string) func(string) (string, bool) {
	all := map[string]string{"APP_ID": "42", "PRIVATE_KEY": testKey(), "WEBHOOK_SECRET": "s3cret"}
	maps.Copy(all, over)
	return func(name string) (string, bool) {
		v, ok := all[name]
		return v, ok && v != "-"
	}
}

func TestDefaults(t *testing.T) {
	s, err := FromEnv(env(nil))
	if err != nil {
		t.Fatal(err)
	}
	if s.AppID != 42 || s.API.String() != "https://api.github.com" || len(s.RedisURL) != 0 ||
		s.Data != "./compat-data" || s.Workers < 1 ||
		s.PublicURL != nil || s.Lease != 10*time.Second || s.Wait != 6*time.Hour ||
		s.LogLevel != slog.LevelInfo ||
		s.Addr != ":8080" ||
		len(s.WebhookSecrets.All()) != 1 {
		t.Errorf("defaults: %+v", s)
	}
}

func TestEverySetting(t *testing.T) {
	s, err := FromEnv(env(map[string]string{
		"GITHUB_API_URL": "https://ghe.example.com/api/v3/", "REDIS_URL": "rediss://u:p@cache:6380/1",
		"COMPAT_PARTITIONS": "16", "COMPAT_POOL": "large",
		"COMPAT_DATA": "/srv/compat", "COMPAT_WORKERS": "0",
		"COMPAT_PUBLIC_URL": "https://compat.example.com/", "COMPAT_LEASE": "2s", "COMPAT_WAIT": "20s",
		"LOG_LEVEL": "Debug", "PORT": "3000",
		"PIP_INDEX_URL": "https://index.example.com/simple", "WEBHOOK_SECRET": "new, old",
	}))
	if err != nil {
		t.Fatal(err)
	}
	if s.API.String() != "https://ghe.example.com/api/v3" ||
		s.PublicURL.String() != "https://compat.example.com" || s.Workers != 0 || s.Partitions != 16 ||
		s.Pool != "large" || s.Addr != ":3000" ||
		s.Lease != 2*time.Second ||
		s.LogLevel != slog.LevelDebug ||
		len(s.WebhookSecrets.All()) != 2 ||
		string(s.WebhookSecrets.All()[1]) != "old" {
		t.Errorf("settings: %+v", s)
	}
}

func TestBadVariables(t *testing.T) {
	for _, c := range []struct{ variable, value string }{
		{"APP_ID", "-"}, {"APP_ID", "twelve"}, {"APP_ID", "-3"},
		{"PRIVATE_KEY", "-"}, {"PRIVATE_KEY", "not a key"}, {"PRIVATE_KEY",
			"-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n"},
		{"WEBHOOK_SECRET", "-"}, {"WEBHOOK_SECRET", ""}, {"WEBHOOK_SECRET", "topsecret,"},
		{"WEBHOOK_SECRET", " , "},
		{"GITHUB_API_URL", "::not a url"}, {"GITHUB_API_URL", "ftp://x"}, {"GITHUB_API_URL", "https://"},
		{"REDIS_URL", "http://not-redis"}, {"REDIS_URL", "redis://"}, {"REDIS_URL",
			"redis://:topsecret@%zz"},
		{"COMPAT_PARTITIONS", "0"}, {"COMPAT_PARTITIONS", "129"}, {"COMPAT_PARTITIONS", "16"},
		{"COMPAT_POOL", "huge"}, {"COMPAT_POOL", "large"},
		{"COMPAT_WORKERS", "many"}, {"COMPAT_WORKERS", "-1"},
		{"COMPAT_PUBLIC_URL", "compat.example.com"},
		{"COMPAT_LEASE", "10"}, {"COMPAT_LEASE", "1ms"}, {"COMPAT_WAIT", "banana"},
		{"COMPAT_WAIT", "-1h"},
		{"LOG_LEVEL", "shouting"}, {"PORT", "http"}, {"PORT", "70000"}, {"PIP_INDEX_URL", "nowhere"},
		{"PIP_INDEX_URL", "https://a/simple https://:topsecret@b"}, {"GITHUB_API_URL", "https://a/x y"},
		{"LOG_LEVEL", "two\nlines"},
		{"REDIS_URL", "redis://:topsecret/topsecret@h:6379/0"}, {"REDIS_URL", "redis://:top#topsecret@h"},
		{"REDIS_URL", "redis://:p@topsecret/topsecret@h:6379/0"}, {"REDIS_URL", "redis://:topsecret%@h"},
		{"PIP_INDEX_URL", "https://user:topsecret#topsecret@h/simple"},
		{"PIP_INDEX_URL", "https://user:12#topsecret@h/simple"},
		{"GITHUB_API_URL", "https://user:topsecret@ghe/api/v3"},
		{"COMPAT_PUBLIC_URL", "https://user:topsecret@h"},
	} {
		_, err := FromEnv(env(map[string]string{c.variable: c.value}))
		var e *EnvError
		if !errors.As(err, &e) || e.Variable != c.variable {
			t.Errorf("%s=%q: error %v, want one of that variable", c.variable, c.value, err)
			continue
		}
		if s := err.Error(); strings.Contains(s, "\n") || strings.Contains(s, "topsecret") ||
			!strings.HasPrefix(s, c.variable) {
			t.Errorf(
				"%s=%q: %q is not one line that starts with the variable and keeps secrets",
				c.variable,
				c.value,
				s,
			)
		}
	}
}

// Every invalid variable is reported, and what is set next to it.
func TestExamine(t *testing.T) {
	s, invalid := Examine(env(map[string]string{
		"APP_ID": "-", "PRIVATE_KEY": "nonsense", "WEBHOOK_SECRET": "-",
		"WEBHOOK_SECRET_PATH": filepath.Join(t.TempDir(), "none"), "REDIS_URL": "http://redis",
		"LOG_LEVEL": "loud", "COMPAT_LEASE": "1", "COMPAT_WAIT": "30", "COMPAT_PUBLIC_URL": "https://compat.example.com", "COMPAT_DATA": "/srv",
	}))
	var got []string
	for _, err := range invalid {
		var e *EnvError
		if errors.As(err, &e) {
			got = append(got, e.Variable)
		}
	}
	want := []string{"APP_ID", "PRIVATE_KEY", "WEBHOOK_SECRET_PATH", "REDIS_URL", "COMPAT_LEASE",
		"COMPAT_WAIT", "LOG_LEVEL"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if s.PrivateKey != nil || s.WebhookSecrets != nil || s.RedisURL != nil ||
		s.PublicURL.Host != "compat.example.com" || s.Data != "/srv" || len(s.Risks()) > 0 {
		t.Errorf("%+v", s)
	}
	if _, invalid := Examine(env(nil)); invalid != nil {
		t.Errorf("valid variables: %v", invalid)
	}
}

func TestRisks(t *testing.T) {
	for _, c := range []struct {
		set  map[string]string
		want []string // variables
	}{
		{map[string]string{"COMPAT_PUBLIC_URL": "https://compat.example.com"}, nil},
		{map[string]string{"COMPAT_PUBLIC_URL": "http://127.0.0.1:8080"}, nil},
		{map[string]string{"COMPAT_PUBLIC_URL": "http://[::1]:8080"}, nil},
		{map[string]string{"COMPAT_PUBLIC_URL": "http://LocalHost"}, nil},
		{map[string]string{"COMPAT_PUBLIC_URL": "http://compat.example.com"},
			[]string{"COMPAT_PUBLIC_URL"}},
		{map[string]string{"COMPAT_PUBLIC_URL": "http://10.0.0.1"}, []string{"COMPAT_PUBLIC_URL"}},
		{map[string]string{"GITHUB_API_URL": "http://ghe.example.com/api/v3"},
			[]string{"GITHUB_API_URL"}},
		{map[string]string{"GITHUB_API_URL": "http://localhost:3000"}, nil},
		{map[string]string{"WEBHOOK_SECRET": "x"}, []string{"WEBHOOK_SECRET"}},
		{map[string]string{"WEBHOOK_SECRET": "0123456789abcde"}, []string{"WEBHOOK_SECRET"}},
		{map[string]string{"WEBHOOK_SECRET": "0123456789abcdef,old"}, []string{"WEBHOOK_SECRET"}},
	} {
		set := map[string]string{"WEBHOOK_SECRET": "0123456789abcdef"}
		maps.Copy(set, c.set)
		s, err := FromEnv(env(set))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range s.Risks() {
			got = append(got, e.Variable)
			for _, secret := range s.WebhookSecrets.All() {
				if len(secret) > 1 && strings.Contains(e.Error(), string(secret)) {
					t.Errorf("%v: a secret is shown: %v", c.set, e)
				}
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", c.set, got, c.want)
		}
	}
}

// Two sources of one secret are an error, because one of them would not be used. An empty variable
// is not set.
func TestTwoSourcesOfASecret(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		first, second string
		set           map[string]string
	}{
		{"PRIVATE_KEY", "PRIVATE_KEY_PATH", map[string]string{"PRIVATE_KEY_PATH": "none.pem"}},
		{"PRIVATE_KEY", "PRIVATE_KEY_COMMAND", map[string]string{"PRIVATE_KEY_COMMAND": "sign"}},
		{"PRIVATE_KEY_PATH", "PRIVATE_KEY_COMMAND", map[string]string{"PRIVATE_KEY": "",
			"PRIVATE_KEY_PATH": file, "PRIVATE_KEY_COMMAND": "sign"}},
		{"WEBHOOK_SECRET", "WEBHOOK_SECRET_PATH", map[string]string{"WEBHOOK_SECRET_PATH": file}},
	} {
		_, err := FromEnv(env(c.set))
		want := c.first + ": " + c.first + " and " + c.second + " are both set; remove one of them"
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	s, err := FromEnv(env(map[string]string{"WEBHOOK_SECRET_PATH": " ", "PRIVATE_KEY_COMMAND": ""}))
	if err != nil || string(s.WebhookSecrets.All()[0]) != "s3cret" {
		t.Errorf("empty variables: %v", err)
	}
}

func TestPrivateKeyForms(t *testing.T) {
	key := testKey()
	file := filepath.Join(t.TempDir(), "app.pem")
	if err := os.WriteFile(file, []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(key))
	rsaKey, _ := x509.ParsePKCS1PrivateKey(block.Bytes)
	der, err := x509.MarshalPKCS8PrivateKey(rsaKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, over := range map[string]map[string]string{
		"newlines":    {},
		"literal \\n": {"PRIVATE_KEY": strings.ReplaceAll(key, "\n", `\n`)},
		"base64":      {"PRIVATE_KEY": base64.StdEncoding.EncodeToString([]byte(key))},
		"CRLF":        {"PRIVATE_KEY": strings.ReplaceAll(key, "\n", "\r\n")},
		"PKCS 8": {"PRIVATE_KEY": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY",
			Bytes: der}))},
		"file":            {"PRIVATE_KEY": "-", "PRIVATE_KEY_PATH": file},
		"empty variables": {"PRIVATE_KEY_PATH": "", "PRIVATE_KEY_COMMAND": " "},
	} {
		s, err := FromEnv(env(over))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !rsaKey.PublicKey.Equal(s.PrivateKey.Public()) {
			t.Errorf("%s: another key comes out", name)
		}
	}
	open := filepath.Join(t.TempDir(), "open.pem")
	if err := os.WriteFile(open, []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o640); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"missing": filepath.Join(t.TempDir(), "none.pem"),
		"directory": t.TempDir(), "others may read it": open} {
		if _, err := FromEnv(env(map[string]string{"PRIVATE_KEY": "-",
			"PRIVATE_KEY_PATH": path})); err == nil ||
			!strings.HasPrefix(err.Error(), "PRIVATE_KEY_PATH: ") {
			t.Errorf("%s: error %v, want one of PRIVATE_KEY_PATH", name, err)
		}
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	s, err := FromEnv(env(nil))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).
		Info("x", "service", s, "secret", s.WebhookSecrets.All()[0], "all", s.WebhookSecrets.All())
	fmt.Fprintf(
		&out,
		"%v %+v %#v %s %q %x %d %o",
		s,
		s,
		s,
		s.WebhookSecrets.All(),
		s.PrivateKey,
		s.PrivateKey,
		s.WebhookSecrets.All(),
		s.WebhookSecrets.All()[0],
	)
	b, _ := json.Marshal(s)
	out.Write(b)
	for _, secret := range []string{"s3cret", base64.StdEncoding.EncodeToString([]byte("s3cret")),
		"BEGIN RSA", fmt.Sprintf("%x", "s3cret"), strings.Trim(fmt.Sprint([]byte("s3cret")), "[]")} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%q is shown in %s", secret, out.String())
		}
	}
}

func TestSecretFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	read := func(text string) (*Service, error) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return FromEnv(env(map[string]string{"WEBHOOK_SECRET": "-", "WEBHOOK_SECRET_PATH": path}))
	}
	for text, want := range map[string][]string{
		"one": {"one"}, "new\nold\n": {"new", "old"}, "new, old\n": {"new", "old"},
		"new\r\nold\r\n": {"new", "old"},
	} {
		s, err := read(text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, secret := range s.WebhookSecrets.All() {
			got = append(got, string(secret))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"": "is empty", "\n": "is empty",
		"topsecret,":         "contains an empty secret; remove the extra comma or line",
		"topsecret\n\nold\n": "contains an empty secret; remove the extra comma or line",
	} {
		_, err := read(text)
		var e *EnvError
		if !errors.As(err, &e) || e.Variable != "WEBHOOK_SECRET_PATH" ||
			!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "topsecret") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A changed file that cannot be used is logged with its variable and its path.
func TestFollowNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	key, secret := filepath.Join(dir, "key.pem"), filepath.Join(dir, "secret")
	for path, text := range map[string]string{key: testKey(), secret: "0123456789abcdef"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := FromEnv(env(map[string]string{
		"PRIVATE_KEY": "", "PRIVATE_KEY_PATH": key, "WEBHOOK_SECRET": "", "WEBHOOK_SECRET_PATH": secret,
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{key, secret} {
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
	}
	var logged bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), followEvery*3/2)
		defer stop()
		s.Follow(ctx, slog.New(slog.NewTextHandler(&logged, nil)))
	})
	for _, want := range []string{
		`the earlier private key stays in use" variable=PRIVATE_KEY_PATH file=` + key +
			` error="is empty"`,
		`the earlier webhook secret stays in use" variable=WEBHOOK_SECRET_PATH file=` + secret +
			` error="is empty"`,
	} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("logged %s, want %s", logged.String(), want)
		}
	}
	if string(s.WebhookSecrets.All()[0]) != "0123456789abcdef" {
		t.Error("the earlier secret is not in use")
	}
}

// The quotes around a value are removed, as a shell does.
func TestUnquoted(t *testing.T) {
	for value, want := range map[string]string{
		`"rediss://cache:6379"`: "rediss://cache:6379", ` 'a&b' `: "a&b", `""`: "", "a": "a", "": "",
		`"a`: `"a`, `a"b"`: `a"b"`, `'`: `'`, `'a','b'`: `'a','b'`, `"it's"`: "it's", `"a'`: `"a'`,
	} {
		got, set := Unquoted(func(string) (string, bool) { return value, true })("X")
		if got != want || !set {
			t.Errorf("%s: %s, %t", value, got, set)
		}
	}
	if _, set := Unquoted(func(string) (string, bool) { return "", false })("X"); set {
		t.Error("a variable that is not set is")
	}
}

// A shell that reads an address without quotes sets its last parameter instead.
func TestAddressesThatAShellEnded(t *testing.T) {
	for _, c := range []struct {
		environ []string
		want    []string // variables
	}{
		{[]string{"password=hunter2", "APP_ID=1"}, []string{"password"}},
		{[]string{"addr=h:6379", "REDIS_URL="}, []string{"addr"}},
		{[]string{"endpoint=https://h", "addr=h:6379"}, []string{"addr", "endpoint"}},
		{[]string{"password=hunter2", "REDIS_URL=redis://h"}, nil},
		{[]string{"PASSWORD=hunter2", "password="}, nil},
	} {
		var got []string
		for _, e := range UnknownVariables(c.environ) {
			got = append(got, e.Variable)
			if strings.Contains(e.Error(), "hunter2") || !strings.Contains(e.Error(), "single quotes") {
				t.Error(e)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.environ, got, c.want)
		}
	}
}

// The lists of variables are those of docs/config.md.
func TestVariablesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(otherVariables)
	for _, name := range variables {
		want = append(want, variablePrefix+name)
	}
	slices.Sort(want)
	var have []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		have = append(have, m[1])
	}
	slices.Sort(have)
	if !slices.Equal(have, want) {
		t.Errorf("the page has %q, the service reads %q", have, want)
	}
}
