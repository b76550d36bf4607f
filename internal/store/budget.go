package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Budget is how many commands count in an hour: of one person, in one repository, and in one
// installation.
type Budget struct {
	Person, Repository, Installation int
}

// A command takes about four calls, besides the check that it may start; GitHub allows an
// installation 5,000 calls an hour. People without write access have budgets of their own, so that
// they cannot use up those of the others.
var (
	WriterBudget   = Budget{Person: 300, Repository: 600, Installation: 1200}
	StrangerBudget = Budget{Person: 30, Repository: 100, Installation: 200}
)

const budgetWindow = time.Hour

// Spender is who gives commands, and where.
type Spender struct {
	Installation, Repository int64
	Login                    string
	Writer                   bool // has write access to the repository
}

// charge is a request that counts.
type charge struct {
	Request    string    `json:"request"`
	Login      string    `json:"login"`
	Repository int64     `json:"repository"`
	Commands   int       `json:"commands"`
	At         time.Time `json:"at"`
}

// Spend counts the commands of a request, which has an id, and reports whether the budgets of the
// person, the repository and the installation allow them. What is refused does not count. A request
// that runs again gets the same answer and counts once.
func (s *Store) Spend(
	ctx context.Context,
	by Spender,
	request string,
	commands int,
) (allowed bool, _ error) {
	limit, key := StrangerBudget, fmt.Sprintf("budget/%d/strangers", by.Installation)
	if by.Writer {
		limit, key = WriterBudget, fmt.Sprintf("budget/%d/writers", by.Installation)
	}
	change := func(charges []charge) ([]charge, bool, error) {
		now := s.Now().UTC()
		charges = slices.DeleteFunc(charges, func(c charge) bool {
			return now.Sub(c.At) >= budgetWindow
		})
		spent := Budget{Person: commands, Repository: commands, Installation: commands}
		for _, c := range charges {
			if c.Request == request {
				allowed = true
				return charges, false, nil
			}
			spent.Installation += c.Commands
			if c.Repository == by.Repository {
				spent.Repository += c.Commands
			}
			if strings.EqualFold(c.Login, by.Login) {
				spent.Person += c.Commands
			}
		}
		allowed = spent.Person <= limit.Person && spent.Repository <= limit.Repository &&
			spent.Installation <= limit.Installation
		return append(charges, charge{request, by.Login, by.Repository, commands, now}), allowed, nil
	}
	err := update(ctx, s, key, budgetWindow, change)
	return allowed, err
}
