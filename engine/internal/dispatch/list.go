package dispatch

// A list is a doubly linked list whose elements are fields of the listed values, so moving a value
// allocates nothing.
type list[V any] struct {
	head, tail *elem[V]
}

type elem[V any] struct {
	prev, next *elem[V]
	in         *list[V] // nil: in no list
	of         *V
}

func (l *list[V]) empty() bool { return l.head == nil }

func (l *list[V]) pushBack(e *elem[V]) {
	e.in, e.prev, e.next = l, l.tail, nil
	if l.tail == nil {
		l.head = e
	} else {
		l.tail.next = e
	}
	l.tail = e
}

func (l *list[V]) pushFront(e *elem[V]) {
	e.in, e.prev, e.next = l, nil, l.head
	if l.head == nil {
		l.tail = e
	} else {
		l.head.prev = e
	}
	l.head = e
}

func (l *list[V]) remove(e *elem[V]) {
	if e.prev == nil {
		l.head = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.tail = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.in, e.prev, e.next = nil, nil, nil
}

// moveBack puts e at the end of l, whatever list it was in.
func (l *list[V]) moveBack(e *elem[V]) {
	if l.tail == e {
		return
	}
	e.leave()
	l.pushBack(e)
}

// leave takes e out of its list, if it is in one.
func (e *elem[V]) leave() {
	if e.in != nil {
		e.in.remove(e)
	}
}
