//go:build scale

package queue

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
)

// pushKinds are what pushes cost, as TestCostOfAPush of package stories measured it.
var pushKinds = []struct {
	redis float64 // seconds of Redis' CPU
	calls float64 // of GitHub's API
}{
	{.0055, 7},    // no findings
	{.0055, 11.7}, // first failure
	{.0057, 12},   // still failing
	{.0061, 9},    // fixed
}

// TestSimulation prints the load of 100,000 installations with 10 million deliveries a day, two for
// each push, on 1, 3 and 6 masters with 48 partitions. It runs in virtual time: each master is a
// server that does one delivery after another, in the order of their arrival.
//
// Assumed are the number of deliveries of an installation, which is log-normal (the median has 10 a
// day, the mean 100), the time of the day (the busiest hour has twice the mean), and that each kind
// of push is equally frequent. The costs of a push are measured.
func TestSimulation(t *testing.T) {
	const (
		installations = 100_000
		deliveries    = 10_000_000
		day           = 86400
		spreadOfSizes = 2.146 // so that the mean is ten times the median
	)
	for _, masters := range []int{1, 3, 6} {
		random := rand.New(rand.NewPCG(1, 2))
		parts := division{Partitions: 48}.partitions()
		at := make([]int, installations)            // master
		until := make([]float64, installations)     // cumulated size
		calls := make([][24]float64, installations) // by hour
		total := 0.0
		for i := range at {
			tag := strings.Trim(string(of(parts, int64(i))), "{}:")
			at[i] = slot(tag) * masters / slots
			total += math.Exp(random.NormFloat64() * spreadOfSizes)
			until[i] = total
		}
		free, busy := make([]float64, masters), make([]float64, masters)
		peak := make([][24]float64, masters)
		delays := make([]float64, 0, deliveries)
		for now := 0.0; ; {
			rate := deliveries / float64(day) * (1 - math.Cos(2*math.Pi*now/day))
			if now += random.ExpFloat64() / max(rate, 1); now >= day {
				break
			}
			i := sort.SearchFloat64s(until, random.Float64()*total)
			kind, hour := pushKinds[random.IntN(len(pushKinds))], int(now/3600)
			m := at[i]
			start := max(now, free[m])
			free[m] = start + kind.redis/2
			delays = append(delays, free[m]-now)
			busy[m] += kind.redis / 2
			peak[m][hour] += kind.redis / 2
			calls[i][hour] += kind.calls / 2
		}
		slices.Sort(delays)
		busiest, limited := 0.0, 0
		for m := range peak {
			busiest = max(busiest, slices.Max(peak[m][:])/3600)
		}
		for i := range calls {
			if slices.Max(calls[i][:]) > 5000 {
				limited++
			}
		}
		mean, most := 0.0, slices.Max(busy)/day
		for _, seconds := range busy {
			mean += seconds / day / float64(masters)
		}
		t.Logf("%d deliveries, %d masters: busy %.0f %% of the day (the busiest %.0f %%), %.0f %% of the busiest hour; "+
			"a delivery takes %.0f ms (99 of 100), %.0f ms (all); %d installations need more than 5,000 "+
			"calls in an hour", len(delays), masters, 100*mean, 100*most, 100*busiest,
			1000*delays[len(delays)*99/100], 1000*delays[len(delays)-1], limited)
		if most > 1.1*mean {
			t.Errorf("%d masters: the busiest has %.2f times the mean", masters, most/mean)
		}
	}
}
