package githubtest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Delivery is one attempt to deliver an event to the App.
type Delivery struct {
	ID         int64
	GUID       string // the same for a redelivery
	Event      string
	Action     string
	Payload    []byte
	At         time.Time
	Took       time.Duration
	Redelivery bool
	// of the App's response; 502 if it could not be reached, 504 after a timeout
	Code   int
	Header http.Header
	Body   []byte // of the App's response

	installation, repository int64
}

// Text returns a string in the App's JSON response; "" if there is none.
func (d *Delivery) Text(key string) string {
	var o object
	if json.Unmarshal(d.Body, &o) != nil {
		return ""
	}
	return str(o, key)
}

func (d *Delivery) arrived() bool { return d.Code >= 200 && d.Code < 400 }

// Sign returns the X-Hub-Signature-256 of a body.
func Sign(secret string, body []byte) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write(body)
	return "sha256=" + hex.EncodeToString(m.Sum(nil))
}

// NewGUID returns an ID for a delivery.
func NewGUID() string {
	var b [16]byte
	rand.Read(b[:])
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Send delivers a signed event to Hook, with a new GUID, and waits for the response. Like GitHub
// it has a timeout and does not retry.
func (s *Server) Send(event string, payload map[string]any) *Delivery {
	return s.SendAs(NewGUID(), event, payload)
}

// SendAs is like Send with a given GUID.
func (s *Server) SendAs(guid, event string, payload map[string]any) *Delivery {
	return s.deliver(s.delivery(guid, event, encode(payload)))
}

// Again repeats a delivery with its GUID, as when a person clicks Redeliver.
func (s *Server) Again(d *Delivery) *Delivery {
	return s.deliver(s.delivery(d.GUID, d.Event, d.Payload))
}

// Lose records a failed delivery without sending it.
func (s *Server) Lose(event string, payload map[string]any) *Delivery {
	d := s.delivery(NewGUID(), event, encode(payload))
	d.At, d.Code = time.Now(), http.StatusBadGateway
	s.keep(d)
	return d
}

func (s *Server) delivery(guid, event string, payload []byte) *Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	var o object
	_ = json.Unmarshal(payload, &o) // the payload is from encode
	return &Delivery{
		ID:           s.id(),
		GUID:         guid,
		Event:        event,
		Action:       str(o, "action"),
		Payload:      payload,
		installation: num(obj(o, "installation"), "id"),
		repository:   num(obj(o, "repository"), "id"),
	}
}

func (s *Server) keep(d *Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deliveries = append(s.deliveries, d)
}

// Headers returns the headers that GitHub sends with a delivery.
func (s *Server) Headers(d *Delivery) http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "GitHub-Hookshot/test")
	h.Set("X-GitHub-Event", d.Event)
	h.Set("X-GitHub-Delivery", d.GUID)
	h.Set("X-GitHub-Hook-ID", "99")
	h.Set("X-GitHub-Hook-Installation-Target-ID", strconv.FormatInt(s.AppID, 10))
	h.Set("X-GitHub-Hook-Installation-Target-Type", "integration")
	h.Set("X-Hub-Signature-256", Sign(s.Secret, d.Payload))
	return h
}

func (s *Server) deliver(d *Delivery) *Delivery {
	d.At = time.Now()
	d.Code, d.Header, d.Body = post(s.Hook, s.Headers(d), d.Payload, s.Patience)
	d.Took = time.Since(d.At)
	s.keep(d)
	return d
}

// Post sends any body with any headers, like a stranger. With "Expect: 100-continue" it waits
// with the body for the App's consent. The code is 502 if nothing responds, and 504 after a
// minute.
func Post(url string, h http.Header, body []byte) (code int, header http.Header, answer []byte) {
	return post(url, h, body, time.Minute)
}

func post(
	url string,
	h http.Header,
	body []byte,
	patience time.Duration,
) (code int, header http.Header, answer []byte) {
	req, err := http.NewRequestWithContext(
		context.Background(),
		http.MethodPost,
		url,
		bytes.NewReader(body),
	)
	if err != nil {
		return http.StatusBadGateway, nil, nil
	}
	req.Header = h
	client := http.Client{
		Timeout:   patience,
		Transport: &http.Transport{DisableKeepAlives: true, ExpectContinueTimeout: patience},
	}
	res, err := client.Do(req)
	if err != nil {
		if t, ok := err.(interface{ Timeout() bool }); ok && t.Timeout() {
			return http.StatusGatewayTimeout, nil, nil
		}
		return http.StatusBadGateway, nil, nil
	}
	defer func() { _ = res.Body.Close() }()
	answer, _ = io.ReadAll(io.LimitReader(res.Body, 1<<20))
	return res.StatusCode, res.Header, answer
}

// Deliveries returns all attempts, oldest first.
func (s *Server) Deliveries() []*Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.deliveries)
}

func (d *Delivery) json() object {
	status := "OK"
	if !d.arrived() {
		status = "Invalid HTTP Response: " + strconv.Itoa(d.Code)
	}
	return object{
		"id":              d.ID,
		"guid":            d.GUID,
		"delivered_at":    d.At.UTC().Format("2006-01-02T15:04:05.000Z"),
		"redelivery":      d.Redelivery,
		"duration":        d.Took.Seconds(),
		"status":          status,
		"status_code":     d.Code,
		"event":           d.Event,
		"action":          orNull(d.Action),
		"installation_id": d.installation,
		"repository_id":   d.repository,
		"throttled_at":    nil,
	}
}

// listDeliveries lists newest first; its cursor is an ID.
func (s *Server) listDeliveries(r *request) (any, error) {
	per, _ := strconv.Atoi(r.query("per_page"))
	if per <= 0 || per > 100 {
		per = 30
	}
	before, _ := strconv.ParseInt(strings.TrimPrefix(r.query("cursor"), "v1_"), 10, 64)
	out := []any{}
	for _, d := range slices.Backward(s.deliveries) {
		status := r.query("status")
		if before > 0 && d.ID >= before || status == "success" && !d.arrived() ||
			status == "failure" && d.arrived() {
			continue
		}
		if len(out) == per {
			last := out[per-1].(object)["id"].(int64)
			next := s.again(r, "cursor", "v1_"+strconv.FormatInt(last, 10))
			return &answer{
				status: http.StatusOK,
				body:   out,
				header: http.Header{"Link": {"<" + next + `>; rel="next"`}},
			}, nil
		}
		out = append(out, d.json())
	}
	return out, nil
}

func (r *request) delivery(s *Server) (*Delivery, error) {
	for _, d := range s.deliveries {
		if d.ID == r.number("delivery_id") {
			return d, nil
		}
	}
	return nil, notFound()
}

func (s *Server) getDelivery(r *request) (any, error) {
	d, err := r.delivery(s)
	if err != nil {
		return nil, err
	}
	o := d.json()
	o["request"] = object{
		"headers": object{"X-GitHub-Delivery": d.GUID},
		"payload": json.RawMessage(d.Payload),
	}
	o["response"] = object{"headers": object{}, "payload": string(d.Body)}
	return o, nil
}

// redeliver repeats a delivery soon after the response. Requesting one that arrived, or that the
// App rejected, is a violation.
func (s *Server) redeliver(r *request) (any, error) {
	d, err := r.delivery(s)
	if err != nil {
		return nil, err
	}
	for _, o := range s.deliveries {
		if o.GUID == d.GUID && (o.arrived() || o.Code == http.StatusUnauthorized) {
			s.violate(
				"%s %s: asks again for delivery %s, which was answered %d",
				r.Method,
				r.call.Path,
				d.GUID,
				o.Code,
			)
		}
	}
	again := *d
	again.ID, again.Redelivery, again.Body, again.Header = s.id(), true, nil, nil
	go s.deliver(&again) // ends with the App's response, or the timeout
	return &answer{status: http.StatusAccepted, body: object{}}, nil
}
