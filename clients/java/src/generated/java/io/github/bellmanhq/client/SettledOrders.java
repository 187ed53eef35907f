// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * SettledOrders, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param results see the API
 */
public record SettledOrders(
        List<SettledOrder> results) {
    static SettledOrders of(Object json) {
        var r = Shape.Reader.of("SettledOrders", json);
        return new SettledOrders(
                r.list("results", SettledOrder::of));
    }
}
