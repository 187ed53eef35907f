// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * OrderPage, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param nextCursor Cursor of the next page; empty only at the end. A page with few orders, or none, may be followed by another.
 * @param orders see the API
 */
public record OrderPage(
        String nextCursor,
        List<ListedOrder> orders) {
    static OrderPage of(Object json) {
        var r = Shape.Reader.of("OrderPage", json);
        return new OrderPage(
                r.text("next_cursor"),
                r.list("orders", ListedOrder::of));
    }
}
