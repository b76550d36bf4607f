package fix

// Fix is one way out of a finding, as it is shown. What can be applied to the analyzed environment was: Verified is set
// when its finding disappeared and no new one came.
type Fix struct {
	Kind        string   `json:"kind"`                  // pin, link-flag, platform-tag, rebuild, image, symver, patchelf, dependency, environment, source
	Title       string   `json:"title"`                 // imperative, one line
	Command     string   `json:"command"`               // what to type or to add; "" where there is nothing to copy
	Requirement string   `json:"requirement,omitempty"` // PEP 508, for pins and dependencies
	Verified    bool     `json:"verified"`
	Cost        []string `json:"cost"` // what it costs: "conflicts with torch==2.7.0, which pins …"
}
