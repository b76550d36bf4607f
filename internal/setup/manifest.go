package setup

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Ask is a permission or an event that the App requests.
type Ask struct {
	Name  string
	Level string // of a permission: "read" or "write"; "" for an event
	Why   string // the comment in app.yml
}

// Manifest is the content of app.yml: what the App requests from GitHub.
type Manifest struct {
	Name        string
	Home        string // URL of the home page
	Description string
	Public      bool // other accounts than the owner can install it
	Permissions []Ask
	Events      []Ask
}

// ParseManifest parses app.yml. Unknown keys are errors, because the file is part of the program.
func ParseManifest(data []byte) (*Manifest, error) {
	var doc yaml.Node
	if err := yaml.Load(data, &doc); err != nil {
		return nil, fmt.Errorf("app.yml: %w", err)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 ||
		doc.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("app.yml: not a mapping")
	}
	m := &Manifest{}
	top := doc.Content[0].Content
	for i := 0; i+1 < len(top); i += 2 {
		key, value := top[i].Value, top[i+1]
		switch key {
		case "name":
			m.Name = value.Value
		case "url":
			m.Home = value.Value
		case "description":
			m.Description = value.Value
		case "public":
			public, err := strconv.ParseBool(value.Value)
			if err != nil {
				return nil, fmt.Errorf("app.yml: public: %w", err)
			}
			m.Public = public
		case "hook_attributes": // an example; the person who sets up the App gives the address
		case "default_permissions":
			for j := 0; j+1 < len(value.Content); j += 2 {
				level := value.Content[j+1]
				m.Permissions = append(m.Permissions, Ask{value.Content[j].Value, level.Value, reason(level)})
			}
		case "default_events":
			for _, event := range value.Content {
				m.Events = append(m.Events, Ask{Name: event.Value, Why: reason(event)})
			}
		default:
			return nil, fmt.Errorf("app.yml: unknown key %s", key)
		}
	}
	return m, nil
}

func reason(n *yaml.Node) string {
	return strings.TrimSpace(strings.TrimPrefix(n.LineComment, "#"))
}

// JSON returns the manifest in the format of GitHub's form (docs.github.com: registering a GitHub
// App from a manifest). hook is the webhook address, redirect the page to which GitHub returns.
func (m *Manifest) JSON(hook, redirect *url.URL) (string, error) {
	type attributes struct {
		URL    string `json:"url"`
		Active bool   `json:"active"`
	}
	out := struct {
		Name        string            `json:"name"`
		URL         string            `json:"url"`
		Description string            `json:"description"`
		Public      bool              `json:"public"`
		Hook        attributes        `json:"hook_attributes"`
		Redirect    string            `json:"redirect_url"`
		Permissions map[string]string `json:"default_permissions"`
		Events      []string          `json:"default_events"`
	}{m.Name, m.Home, m.Description, m.Public, attributes{hook.String(), true}, redirect.String(),
		map[string]string{}, nil}
	for _, p := range m.Permissions {
		out.Permissions[p.Name] = p.Level
	}
	for _, e := range m.Events {
		out.Events = append(out.Events, e.Name)
	}
	text, err := json.Marshal(out)
	if err != nil {
		return "", fmt.Errorf("setup: %w", err)
	}
	return string(text), nil
}
