package dispatch

// EndpointOf returns the endpoint of a line; ok is false if the line is not open.
func (d *D[T]) EndpointOf(line uint64) (endpoint string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.core.lines[line]; l != nil {
		return l.endpoint.key.name, true
	}
	return "", false
}

// Endpoint returns the state of one endpoint, by name.
func (d *D[T]) Endpoint(name string) (EndpointState, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.core.byKey[endpointKey{name: name}]; e != nil && name != "" {
		return d.core.state(e), true
	}
	return EndpointState{}, false
}
