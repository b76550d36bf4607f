package bucket

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// fakeS3 stores objects and rejects requests that are not signed correctly.
type fakeS3 struct {
	mu      sync.Mutex
	objects map[string][]byte
}

const secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

var signedAt = regexp.MustCompile(`Credential=AKID/\d{8}/eu-test-1/s3/aws4_request`)

func (f *fakeS3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	got := r.Header.Get("Authorization")
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err == nil {
		again := httptest.NewRequest(r.Method, "http://"+r.Host+r.URL.EscapedPath(),
			bytes.NewReader(body))
		again.Header.Set("X-Amz-Content-Sha256", r.Header.Get("X-Amz-Content-Sha256"))
		signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
		err = signer.SignHTTP(context.Background(),
			aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: secret}, again,
			r.Header.Get("X-Amz-Content-Sha256"), "s3", "eu-test-1", at)
		if err == nil && again.Header.Get("Authorization") != got || !signedAt.MatchString(got) {
			err = fmt.Errorf("signature %s", got)
		}
	}
	if err != nil {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, "<Error><Code>SignatureDoesNotMatch</Code></Error>")
		return
	}
	if r.Method == http.MethodPut {
		f.objects[r.URL.Path] = body
		return
	}
	value, ok := f.objects[r.URL.Path]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "<Error><Code>NoSuchKey</Code></Error>")
		return
	}
	_, _ = w.Write(value)
}

func environment(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	}
}

func credentials() map[string]string {
	return map[string]string{"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": secret}
}

// check writes and reads objects.
func check(t *testing.T, b Bucket) {
	t.Helper()
	ctx := t.Context()
	if got, err := b.Get(ctx, "31d/none"); got != nil || err != nil {
		t.Errorf("an object that does not exist: %q %v", got, err)
	}
	large := bytes.Repeat([]byte("x\x00"), 1<<20)
	for _, value := range [][]byte{[]byte("one"), []byte("two"), large} {
		if err := b.Put(ctx, "31d/name", value); err != nil {
			t.Fatal(err)
		}
		if got, err := b.Get(ctx, "31d/name"); !bytes.Equal(got, value) || err != nil {
			t.Errorf("%d bytes are read, want %d: %v", len(got), len(value), err)
		}
	}
}

func TestS3(t *testing.T) {
	fake := &fakeS3{objects: map[string][]byte{}}
	server := httptest.NewServer(fake)
	defer server.Close()
	address := "s3://bucket/a/prefix?region=eu-test-1&endpoint=" + url.QueryEscape(server.URL)
	b, err := Open(address, environment(credentials()))
	if err != nil {
		t.Fatal(err)
	}
	check(t, b)
	if _, ok := fake.objects["/bucket/a/prefix/31d/name"]; !ok {
		t.Errorf("the objects are %v", fake.objects)
	}
	wrong := credentials()
	wrong["AWS_SECRET_ACCESS_KEY"] = "wrong"
	b, err = Open(address, environment(wrong))
	if err != nil {
		t.Fatal(err)
	}
	err = b.Put(t.Context(), "31d/name", nil)
	if err == nil || !strings.Contains(err.Error(), "SignatureDoesNotMatch") ||
		strings.Contains(err.Error(), "wrong") {
		t.Errorf("with a wrong key: %v", err)
	}
	server.Close()
	if _, err := b.Get(t.Context(), "31d/name"); err == nil {
		t.Error("a server that is not there answers")
	}
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	b, err := Open("file://"+dir+"/blobs", nil)
	if err != nil {
		t.Fatal(err)
	}
	check(t, b)
	files, err := os.ReadDir(dir + "/blobs/31d")
	if err != nil || len(files) != 1 {
		t.Errorf("files %v: %v", files, err)
	}
}

func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"bucket":        "neither",
		"s3://":         "neither",
		"gs://bucket":   "neither",
		"file://folder": "neither",
		"s3://bucket":   "region",
		"s3://bucket?region=r&endpoint=ftp://host": "endpoint",
	} {
		if _, err := Open(address, environment(credentials())); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", address, err, want)
		}
	}
	_, err := Open("s3://bucket?region=r", environment(nil))
	if err == nil || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Errorf("without credentials: %v", err)
	}
}
