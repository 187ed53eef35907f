package console

// home is the first page.
func (q *request) home() { q.goTo("/tasks") }
