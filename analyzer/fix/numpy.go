package fix

// NumPy1 is which releases of NumPy 1 a module works with that was built against NumPy 2
// (numpyconfig.h of these releases: the default of NPY_FEATURE_VERSION).
const NumPy1 = "The result works with NumPy 2, and with NumPy 1 from 1.19 on if built against " +
	"2.0, from 1.21 on if against 2.1, and from 1.23 on if against 2.3"
