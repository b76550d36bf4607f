// Package bucket stores values in S3-compatible object storage, or in a folder that all processes
// share. It only writes and reads whole objects of a private bucket; lifecycle rules of the bucket
// delete them.
//
//	b, err := bucket.Open("s3://compat-blobs?region=eu-central-1", os.LookupEnv)
//	err = b.Put(ctx, "31d/0f3a", value)
package bucket

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bucket stores objects by name. It is safe for concurrent use.
type Bucket interface {
	// Put writes an object.
	Put(ctx context.Context, name string, value []byte) error
	// Get reads an object; nil, nil if there is none.
	Get(ctx context.Context, name string) ([]byte, error)
}

// maxObject limits what Get reads, in bytes; queue.MaxBlob is less.
const maxObject = 64 << 20

// Open returns the bucket of an address. It makes no request. Forms of the address:
//
//	s3://BUCKET/PREFIX?region=REGION&endpoint=https://HOST   S3-compatible; PREFIX is optional
//	file:///FOLDER                                           a folder, created if needed
//
// The region is that of AWS_REGION by default, and the endpoint that of AWS. The credentials are in
// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, as for other S3 clients.
func Open(address string, getenv func(string) (string, bool)) (Bucket, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("is not a valid address")
	}
	switch {
	case u.Scheme == "file" && u.Host == "" && filepath.IsAbs(u.Path):
		return folder(u.Path), nil
	case u.Scheme == "s3" && u.Host != "":
		return openS3(u, getenv)
	}
	return nil, errors.New("is neither s3://BUCKET?region=REGION nor file:///FOLDER")
}

type s3 struct {
	client            *http.Client
	id, secret, token string // credentials; token is "" for permanent ones
	region            string
	root              *url.URL // of the objects
}

func openS3(u *url.URL, getenv func(string) (string, bool)) (*s3, error) {
	get := func(name string) string {
		v, _ := getenv(name)
		return strings.TrimSpace(v)
	}
	query := u.Query()
	s := &s3{
		region: query.Get("region"),
		id:     get("AWS_ACCESS_KEY_ID"),
		secret: get("AWS_SECRET_ACCESS_KEY"),
		token:  get("AWS_SESSION_TOKEN"),
	}
	if s.region == "" {
		s.region = get("AWS_REGION")
	}
	if s.region == "" {
		return nil, errors.New("names no region; add ?region=REGION, or set AWS_REGION")
	}
	if s.id == "" || s.secret == "" {
		return nil, errors.New("needs credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	endpoint := query.Get("endpoint")
	if endpoint == "" {
		endpoint = "https://s3." + s.region + ".amazonaws.com"
	}
	root, err := url.Parse(endpoint)
	if err != nil || root.Scheme != "https" && root.Scheme != "http" || root.Host == "" {
		return nil, errors.New("has an endpoint that is not an http or https address")
	}
	s.root = root.JoinPath(u.Host, u.Path)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 20
	s.client = &http.Client{
		Transport: transport,
		// A signature is valid for one host only.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return s, nil
}

func (s *s3) Put(ctx context.Context, name string, value []byte) error {
	resp, err := s.send(ctx, http.MethodPut, name, value)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (s *s3) Get(ctx context.Context, name string) ([]byte, error) {
	resp, err := s.send(ctx, http.MethodGet, name, nil)
	if resp == nil || err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	value, err := io.ReadAll(io.LimitReader(resp.Body, maxObject))
	if err != nil {
		return nil, fmt.Errorf("bucket: read %s: %w", name, err)
	}
	return value, nil
}

// send sends a signed request for an object. The response has status
// 200, or is nil for an object that does not exist.
func (s *s3) send(ctx context.Context, method, name string, body []byte) (*http.Response, error) {
	address := s.root.JoinPath(name).String()
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("bucket: %w", err)
	}
	s.sign(req, body, time.Now())
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("bucket: %w", err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 2000))
	if resp.StatusCode == http.StatusNotFound && strings.Contains(string(text), "NoSuchKey") {
		return nil, nil
	}
	return nil, fmt.Errorf("bucket: %s %s: %s: %.200q", method, name, resp.Status, text)
}

// sign adds the headers of AWS Signature Version 4 (docs.aws.amazon.com: "Create a signed AWS API
// request"). The libraries of AWS need megabytes of memory in each process for more than this.
func (s *s3) sign(r *http.Request, body []byte, now time.Time) {
	digest := func(data []byte) string {
		sum := sha256.Sum256(data)
		return hex.EncodeToString(sum[:])
	}
	at := now.UTC().Format("20060102T150405Z")
	r.Header.Set("X-Amz-Date", at)
	r.Header.Set("X-Amz-Content-Sha256", digest(body))
	names := []string{"host", "x-amz-content-sha256", "x-amz-date"}
	if len(body) > 0 {
		names = slices.Insert(names, 0, "content-length")
	}
	if s.token != "" {
		r.Header.Set("X-Amz-Security-Token", s.token)
		names = append(names, "x-amz-security-token")
	}
	canonical := r.Method + "\n" + r.URL.EscapedPath() + "\n\n"
	for _, name := range names {
		value := r.Header.Get(name)
		switch name {
		case "host":
			value = r.URL.Host
		case "content-length":
			value = strconv.Itoa(len(body))
		}
		canonical += name + ":" + value + "\n"
	}
	signed := strings.Join(names, ";")
	canonical += "\n" + signed + "\n" + r.Header.Get("X-Amz-Content-Sha256")

	scope := []string{at[:8], s.region, "s3", "aws4_request"}
	text := strings.Join([]string{"AWS4-HMAC-SHA256", at, strings.Join(scope, "/"),
		digest([]byte(canonical))}, "\n")
	key := []byte("AWS4" + s.secret)
	for _, part := range append(scope, text) {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	r.Header.Set("Authorization", fmt.Sprintf(
		"AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%x",
		s.id, strings.Join(scope, "/"), signed, key))
}

// folder is a bucket in a directory.
type folder string

func (f folder) Put(_ context.Context, name string, value []byte) error {
	path := filepath.Join(string(f), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("bucket: %w", err)
	}
	// Written under another name first, so that no process reads a part.
	file, err := os.CreateTemp(filepath.Dir(path), "write-*")
	if err != nil {
		return fmt.Errorf("bucket: %w", err)
	}
	_, err = file.Write(value)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("bucket: %w", errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}

func (f folder) Get(_ context.Context, name string) ([]byte, error) {
	value, err := os.ReadFile(filepath.Join(string(f), filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("bucket: %w", err)
	}
	return value, nil
}
