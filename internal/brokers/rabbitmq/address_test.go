package rabbitmq

import "testing"

func TestRouteOf(t *testing.T) {
	tests := []struct{ path, exchange, key string }{
		{"orders/paid.wx", "orders", "paid.wx"},
		{"orders/a/b", "orders", "a/b"},
		{"or%2Fders/a%20b", "or/ders", "a b"},
		{"/order.close", "", "order.close"},
		{"fan/", "fan", ""},
	}
	for _, tt := range tests {
		if exchange, key, err := routeOf(tt.path); exchange != tt.exchange || key != tt.key || err != nil {
			t.Errorf("routeOf(%q) = %q, %q, %v; want %q, %q", tt.path, exchange, key, err, tt.exchange, tt.key)
		}
	}
}
