package webhook

// ping acknowledges GitHub's test of the webhook address.
func ping(envelope, *struct{}) (decision, error) { return ignore("the webhook works") }
