package webhook

import (
	"errors"
	"io"
	"net/http"

	"github.com/gin-gonic/gin"
)

// maxValidate is far more than a configuration may have, so that whoever sends too much is told so
// by the reader of configurations.
const maxValidate = 1 << 20

// validity is the answer of PUT /validate.
type validity struct {
	Valid    bool     `json:"valid"`
	Problems []string `json:"problems"` // a line each: file, line, key, what is wrong and what to do
}

// validate reads a text of .github/compat.yml as the App would: 200, or 422 with what is wrong.
func (s *server) validate(c *gin.Context) {
	text, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, maxValidate))
	switch tooLarge := (*http.MaxBytesError)(nil); {
	case errors.As(err, &tooLarge):
		c.JSON(
			http.StatusRequestEntityTooLarge,
			validity{
				Problems: []string{
					"the body is larger than 1 MiB; send the text of .github/compat.yml",
				},
			},
		)
		return
	case err != nil:
		c.JSON(http.StatusBadRequest, validity{Problems: []string{"the body could not be read"}})
		return
	}
	v := validity{Problems: []string{}}
	for _, p := range s.Problems(text) {
		v.Problems = append(v.Problems, p.String())
	}
	code := http.StatusUnprocessableEntity
	if v.Valid = len(v.Problems) == 0; v.Valid {
		code = http.StatusOK
	}
	c.JSON(code, v)
}
