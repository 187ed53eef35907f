// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * HandIn, as the API has it. What is null is left out.
 *
 * @param body The body exactly as the channel sent it.
 * @param headers The headers of the channel's request that its signature needs, such as Wechatpay-Signature.
 */
public record HandIn(
        String body,
        Map<String, String> headers) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "body", body,
                "headers", headers);
    }
}
