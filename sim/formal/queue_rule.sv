// A block as a queue: items come out in the order they went in, none lost, none twice. Items are numbered modulo a
// power of two above Depth, and one number, any, is followed from push to pop.
// Assertions named i_ are for the induction alone: what the block holds, oldest first, are those items.
module queue_rule #(
    parameter int unsigned DataW = 8,
    parameter int unsigned Depth = 2,

    localparam int unsigned CountW = $clog2(Depth + 2)
) (
    input logic clk,
    input logic rst,

    input logic [DataW-1:0] push_data_i,
    input logic             push_i,
    input logic [DataW-1:0] pop_data_i,
    input logic             pop_i,

    output logic [CountW-1:0] count_o,  // pushed, not yet popped

    input logic [CountW-1:0]            held_i,
    input logic [ Depth-1:0][DataW-1:0] items_i
);

  logic [CountW-1:0] any_number;  // a constant, the solver's choice
  logic [CountW-1:0] pushed_q, popped_q, place;
  logic [DataW-1:0] item_q;
  logic kept;

  assign place   = any_number - popped_q;
  assign count_o = pushed_q - popped_q;

  always_ff @(posedge clk) begin
    any_number <= any_number;
    if (push_i && pushed_q == any_number) item_q <= push_data_i;
    pushed_q <= pushed_q + CountW'(push_i);
    popped_q <= popped_q + CountW'(pop_i);
    if (rst) begin
      pushed_q <= '0;
      popped_q <= '0;
    end
  end

  always_comb begin
    kept = 1'b1;
    for (int unsigned k = 0; k < Depth; k++) begin
      if (place == CountW'(k)) kept = items_i[k] == item_q;
    end
  end

  always_comb begin
    if (!rst) begin
      a_room : assert (count_o <= CountW'(Depth));
      a_some : assert (!pop_i || push_i || count_o != '0);
      if (pop_i && place == '0) a_order : assert (pop_data_i == (count_o != '0 ? item_q : push_data_i));
      i_held : assert (held_i == count_o);
      if (place < count_o) i_kept : assert (kept);
    end
  end

endmodule
