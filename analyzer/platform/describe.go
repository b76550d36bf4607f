package platform

import (
	"fmt"
	"strings"
)

// glibcYears are the years of glibc's releases, from the announcements on the libc-announce list.
// Only old architectures have nodes from before 2.2.5.
var glibcYears = map[string]int{
	"2.0": 1997, "2.1": 1999, "2.1.1": 1999, "2.1.2": 1999, "2.1.3": 2000, "2.2": 2000, "2.2.1": 2001,
	"2.2.2": 2001, "2.2.3": 2001, "2.2.4": 2001, "2.2.5": 2002,
	"2.2.6": 2002, "2.3": 2002, "2.3.2": 2003, "2.3.3": 2003, "2.3.4": 2004, "2.4": 2006, "2.5": 2006,
	"2.6": 2007, "2.7": 2007, "2.8": 2008, "2.9": 2008,
	"2.10": 2009, "2.11": 2009, "2.12": 2010, "2.13": 2011, "2.14": 2011, "2.15": 2012, "2.16": 2012,
	"2.17": 2012, "2.18": 2013, "2.19": 2014, "2.20": 2014,
	"2.21": 2015, "2.22": 2015, "2.23": 2016, "2.24": 2016, "2.25": 2017, "2.26": 2017, "2.27": 2018,
	"2.28": 2018, "2.29": 2019, "2.30": 2019, "2.31": 2020,
	"2.32": 2020, "2.33": 2021, "2.34": 2021, "2.35": 2022, "2.36": 2022, "2.37": 2023, "2.38": 2023,
	"2.39": 2024, "2.40": 2024, "2.41": 2025, "2.42": 2025, "2.43": 2026,
}

// gccOf maps version nodes of libstdc++ to the GCC releases that added them ("ABI Policy and
// Guidelines" in the libstdc++ manual; after GCC 11, from the libraries of the releases).
var gccOf = map[string]string{
	"GLIBCXX_3.4": "3.4.0", "GLIBCXX_3.4.1": "3.4.1", "GLIBCXX_3.4.2": "3.4.2",
	"GLIBCXX_3.4.3": "3.4.3", "GLIBCXX_3.4.4": "4.0.0", "GLIBCXX_3.4.5": "4.0.1",
	"GLIBCXX_3.4.6": "4.0.2", "GLIBCXX_3.4.7": "4.0.3", "GLIBCXX_3.4.8": "4.1.1",
	"GLIBCXX_3.4.9": "4.2.0", "GLIBCXX_3.4.10": "4.3.0", "GLIBCXX_3.4.11": "4.4.0",
	"GLIBCXX_3.4.12": "4.4.1", "GLIBCXX_3.4.13": "4.4.2", "GLIBCXX_3.4.14": "4.5.0",
	"GLIBCXX_3.4.15": "4.6.0", "GLIBCXX_3.4.16": "4.6.1", "GLIBCXX_3.4.17": "4.7.0",
	"GLIBCXX_3.4.18": "4.8.0", "GLIBCXX_3.4.19": "4.8.3", "GLIBCXX_3.4.20": "4.9",
	"GLIBCXX_3.4.21": "5.1", "GLIBCXX_3.4.22": "6.1", "GLIBCXX_3.4.23": "7.1",
	"GLIBCXX_3.4.24": "7.2", "GLIBCXX_3.4.25": "8.1", "GLIBCXX_3.4.26": "9.1",
	"GLIBCXX_3.4.27": "9.2", "GLIBCXX_3.4.28": "9.3", "GLIBCXX_3.4.29": "11.1",
	"GLIBCXX_3.4.30": "12.1", "GLIBCXX_3.4.31": "13.1", "GLIBCXX_3.4.32": "13.2",
	"GLIBCXX_3.4.33": "14.1", "GLIBCXX_3.4.34": "15.1", "GLIBCXX_3.4.35": "16.1",
	"GLIBCXX_3.4.36": "16.2",
	"CXXABI_1.3":     "3.4.0", "CXXABI_1.3.1": "4.0.0", "CXXABI_1.3.2": "4.3.0",
	"CXXABI_1.3.3": "4.4.0",
	"CXXABI_1.3.4": "4.5.0", "CXXABI_1.3.5": "4.6.0",
	"CXXABI_1.3.6": "4.7.0", "CXXABI_1.3.7": "4.8.0", "CXXABI_1.3.8": "4.9", "CXXABI_1.3.9": "5.1",
	"CXXABI_1.3.10": "6.1", "CXXABI_1.3.11": "7.1",
	"CXXABI_1.3.12": "9.1", "CXXABI_1.3.13": "11.1", "CXXABI_1.3.14": "13.1", "CXXABI_1.3.15": "14.1",
	"CXXABI_1.3.17": "16.1", "CXXABI_TM_1": "4.7.0",
}

// Describe returns a clause that explains a version node: "GLIBC_2.29 was added in glibc 2.29
// (2019)", "GLIBCXX_3.4.21 was added in GCC 5.1". It is "" for an unknown node.
func Describe(version string) string {
	family, number, _ := strings.Cut(version, "_")
	// GLIBCXX_LDBL_3.4.10 and GLIBCXX_IEEE128_3.4.29 are for other formats of long double.
	plain := strings.TrimPrefix(strings.TrimPrefix(number, "LDBL_"), "IEEE128_")
	if gcc := gccOf[family+"_"+plain]; gcc != "" {
		return version + " was added in GCC " + gcc
	}
	if number == "" || number[0] < '0' || number[0] > '9' {
		switch version {
		case "GLIBC_PRIVATE":
			return "GLIBC_PRIVATE is internal to glibc and matches only one build of it"
		case "GLIBC_ABI_DT_RELR":
			return "GLIBC_ABI_DT_RELR was added in glibc 2.36 (2022), for packed relative relocations"
		}
		return ""
	}
	switch family {
	case "GLIBC":
		if year := glibcYears[number]; year != 0 {
			return fmt.Sprintf("%s was added in glibc %s (%d)", version, number, year)
		}
	case "GCC":
		return version + " was added in libgcc of GCC " + strings.TrimSuffix(
			strings.TrimSuffix(number, ".0"),
			".0",
		)
	case "GFORTRAN":
		return version + " was added in libgfortran of GCC " + number
	case "ZLIB":
		return version + " was added in zlib " + number
	case "OPENSSL":
		return version + " was added in OpenSSL " + strings.ReplaceAll(number, "_", ".")
	}
	return ""
}

// GCCRelease returns the GCC release that added a version node of libstdc++: "13.2" for
// GLIBCXX_3.4.32. It is "" for other nodes.
func GCCRelease(version string) string { return gccOf[version] }
