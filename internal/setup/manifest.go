package setup

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Ask is a permission or an event that the App asks for.
type Ask struct {
	Name  string
	Level string // of a permission: "read" or "write"; of an event ""
	Why   string // the comment behind it
}

// Manifest is app.yml: what the App asks GitHub for.
type Manifest struct {
	Name        string
	Home        string // its home page
	Description string
	Public      bool // whether accounts other than its owner may install it
	Permissions []Ask
	Events      []Ask
}

// ParseManifest reads app.yml. It is strict: the file comes with the program, so a key that is not
// known is a mistake in it.
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
		case "hook_attributes": // an example: whoever sets the App up says where it is
		case "default_permissions":
			for j := 0; j+1 < len(value.Content); j += 2 {
				level := value.Content[j+1]
				m.Permissions = append(
					m.Permissions,
					Ask{value.Content[j].Value, level.Value, reason(level)},
				)
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

func reason(
	n *yaml.Node,
) string {
	return strings.TrimSpace(strings.TrimPrefix(n.LineComment, "#"))
}

// JSON is the manifest as GitHub's page takes it (docs.github.com: registering a GitHub App from a
// manifest). Events go to hook, and the browser is sent back to redirect.
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
