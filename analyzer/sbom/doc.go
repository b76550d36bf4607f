// Package sbom reads the software bills of materials in a wheel (PEP 770), and knows what a library
// shows of its version. It reads CycloneDX and SPDX 2 in JSON.
//
//	d, err := sbom.Parse(data)
//	files := sbom.NewFiles([]string{"tool.libs/libz-eb09ad1d.so.1.2.11"})
//	for _, c := range d.Components {
//		for _, file := range files.Of(c) {
//			version, where := sbom.Differs(c, sbom.Shown{File: file})
//		}
//	}
//
// The files are untrusted. github.com/CycloneDX/cyclonedx-go is not used to read them: it allocates
// a component of 600 bytes for three bytes of input. This reader stores five short texts of at most
// 10,000 components; a file has at most 8 MiB, is nested at most 64 deep, and no object in it has
// more than 256 members. TestSecondReader and FuzzParse compare it with that library.
package sbom
