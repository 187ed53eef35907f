// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * OrderRef, as the API has it. What is null is left out.
 *
 * @param merchantNo see the API
 * @param orderNo see the API
 */
public record OrderRef(
        String merchantNo,
        String orderNo) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "merchant_no", merchantNo,
                "order_no", orderNo);
    }
}
