// A block as a queue of bytes: they come out in the order they went in, none lost, none twice, and the last one of a packet is the last
// one there. Bytes are numbered modulo a power of two above Depth, and one number, any, is followed. What goes in at once, comes out at
// once, and is inside are bytes without gaps, from the lowest one on.
// Assertions named i_ are for the induction alone: what the block holds, oldest first, are those bytes.
module bytes_rule #(
    parameter int unsigned Push = 12,  // bytes at once
    parameter int unsigned Pop = 8,
    parameter int unsigned Depth = 20,

    localparam int unsigned CountW = $clog2(Depth + Push + 1),
    localparam type count_t = logic [CountW-1:0]
) (
    input logic clk,
    input logic rst,

    input logic [Push-1:0][7:0] push_data_i,
    input count_t               push_bytes_i,  // 0 where nothing goes in
    input logic                 push_last_i,
    input logic [Pop-1:0][7:0]  pop_data_i,
    input count_t               pop_bytes_i,
    input logic                 pop_last_i,

    output count_t count_o,  // pushed, not yet popped

    input count_t                held_i,
    input logic [Depth-1:0][7:0] bytes_i,
    input logic [Depth-1:0]      lasts_i   // each byte is the last of its packet
);

  count_t any_number;  // a constant, the solver's choice
  count_t pushed_q, popped_q, place, pushes;
  logic [7:0] byte_q, pop_byte, held_byte;
  logic last_q, pop_last, held_last;

  assign place   = any_number - popped_q;
  assign pushes  = any_number - pushed_q;
  assign count_o = pushed_q - popped_q;

  always_comb begin
    pop_byte  = pop_data_i[0];
    held_byte = bytes_i[0];
    held_last = lasts_i[0];
    for (int unsigned k = 1; k < Pop; k++) if (place == count_t'(k)) pop_byte = pop_data_i[k];
    for (int unsigned k = 1; k < Depth; k++)
      if (place == count_t'(k)) {held_last, held_byte} = {lasts_i[k], bytes_i[k]};
    pop_last = pop_last_i && place == pop_bytes_i - 1'b1;
  end

  always_ff @(posedge clk) begin
    any_number <= any_number;
    for (int unsigned k = 0; k < Push; k++) begin
      if (count_t'(k) < push_bytes_i && pushes == count_t'(k)) begin
        byte_q <= push_data_i[k];
        last_q <= push_last_i && count_t'(k) == push_bytes_i - 1'b1;
      end
    end
    pushed_q <= pushed_q + push_bytes_i;
    popped_q <= popped_q + pop_bytes_i;
    if (rst) begin
      pushed_q <= '0;
      popped_q <= '0;
    end
  end

  always_comb begin
    if (!rst) begin
      a_bytes : assert (pop_bytes_i <= count_o && count_o <= count_t'(Depth));
      if (place < pop_bytes_i) a_order : assert (pop_byte == byte_q);
      if (place < pop_bytes_i) a_ends : assert (pop_last == last_q);
      i_held : assert (held_i == count_o);
      if (place < count_o) i_kept : assert (held_byte == byte_q && held_last == last_q);
    end
  end

endmodule
