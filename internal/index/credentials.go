package index

import (
	"context"
	"encoding/base64"
	"net/url"
	"os/exec"
	"strings"
	"time"
)

// basic returns the Authorization header for the credentials of a URL; "" = none.
func basic(u *url.Userinfo) string {
	if u == nil {
		return ""
	}
	password, _ := u.Password()
	return header(u.Username(), password)
}

func header(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// keyring returns the Authorization header for the user of a URL, with the password that the
// program keyring has for the URL or for its host, as pip and uv ask for it. "" = none.
func keyring(u *url.URL, user string) string {
	for _, service := range []string{u.String(), u.Host} {
		ctx, cancel := context.WithTimeout(context.Background(), keyringLimit)
		c := exec.CommandContext(ctx, "keyring", "get", service, user)
		out, err := c.Output()
		cancel()
		if err != nil {
			continue
		}
		if password := strings.TrimRight(string(out), "\r\n"); password != "" {
			return header(user, password)
		}
	}
	return ""
}

// keyringLimit is the time for a person to unlock the keyring.
const keyringLimit = time.Minute

// netrc returns the Authorization header for a host, or else for "default", from the text of a
// netrc file (GNU inetutils manual, "The .netrc file"). It ignores macros. "" = none.
func netrc(text, host string) string {
	var words []string
	macro := false
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			macro = false
		}
		fields := strings.Fields(line)
		for n, w := range fields {
			if strings.HasPrefix(w, "#") && n == 0 || macro {
				break
			}
			if w == "macdef" {
				macro = true
				break
			}
			words = append(words, w)
		}
	}
	var user, password, fallback string
	matches, isDefault := false, false
	take := func() string {
		if (matches || isDefault) && user+password != "" {
			return header(user, password)
		}
		return ""
	}
	finish := func() string {
		h := take()
		if isDefault && fallback == "" {
			fallback = h
		}
		user, password = "", ""
		if matches {
			return h
		}
		return ""
	}
	for n := 0; n < len(words); n++ {
		next := ""
		if n+1 < len(words) {
			next = words[n+1]
		}
		switch words[n] {
		case "machine", "default":
			if h := finish(); h != "" {
				return h
			}
			isDefault = words[n] == "default"
			matches = !isDefault && strings.EqualFold(next, host)
			if !isDefault {
				n++
			}
		case "login":
			user = next
			n++
		case "password":
			password = next
			n++
		case "account":
			n++
		}
	}
	if h := finish(); h != "" {
		return h
	}
	return fallback
}
