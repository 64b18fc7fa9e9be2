// roce_qp gives the PSN that was written last, of any QP: also in the cycle behind the segmenter's write, when the table cannot be read
// yet. With what roce_segment is shown to do, packets of one QP that follow each other without a gap have consecutive PSNs.
module roce_qp_formal
  import roce_pkg::*;
#(
    parameter int unsigned NumQp = 2,

    localparam int unsigned IndexW = $clog2(NumQp)
) (
    input logic clk,
    input logic rst,

    input qp_write_t s_axis_qp_tdata,
    input logic      s_axis_qp_tvalid,
    input logic      s_axis_qp_tready,

    input logic [ 7:0] index_i,
    input logic [ 7:0] psn_index_i,
    input logic [23:0] psn_o,
    input logic        psn_write_i,
    input logic [ 7:0] psn_write_index_i,
    input logic [23:0] psn_i,

    input logic busy,
    input qp_write_t write_q,
    input logic [23:0] psns[NumQp],
    input logic moved_q,
    input logic moved_hit_q,
    input logic [IndexW-1:0] moved_index_q,
    input logic [23:0] moved_psn_q
);

  reset_rule u_reset (.*);

  logic [IndexW-1:0] any_index;  // constant, the solver's choice
  logic accepts, sets, writes, wrote_q, known_q;
  logic pending_q;  // software's PSN for that QP is under way
  logic [7:0] index_was_q;
  logic [23:0] psn_q;  // the last one written

  assign accepts = s_axis_qp_tvalid && s_axis_qp_tready;
  assign sets = accepts && s_axis_qp_tdata.set_psn && s_axis_qp_tdata.index == 8'(any_index);
  assign writes = psn_write_i && psn_write_index_i == 8'(any_index);

  always_ff @(posedge clk) begin
    any_index <= any_index;
    wrote_q <= psn_write_i && !rst;
    index_was_q <= index_i;
    pending_q <= sets || (pending_q && !s_axis_qp_tready);
    if (sets) psn_q <= s_axis_qp_tdata.qp.psn;
    if (writes) psn_q <= psn_i;
    if (sets || writes) known_q <= 1'b1;
    if (rst) begin
      known_q   <= 1'b0;
      pending_q <= 1'b0;
    end
  end

  // Packets are of QPs that there are; one whose PSN is set is idle. In the cycle behind a write the segmenter asks for the PSN of the
  // QP that it looked up with it.
  always_comb begin
    assume (!psn_write_i || 9'(psn_write_index_i) < 9'(NumQp));
    assume (!((sets || (pending_q && !s_axis_qp_tready)) && writes));
    assume (!wrote_q || psn_index_i == index_was_q);
  end

  always_comb begin
    if (!rst) begin
      i_known : assert (!pending_q || known_q);
      if (busy) begin
        i_exists : assert (9'(write_q.index) < 9'(NumQp));
        if (pending_q) i_pending :
          assert (write_q.set_psn && write_q.index == 8'(any_index) && write_q.qp.psn == psn_q);
        else i_other : assert (!write_q.set_psn || write_q.index != 8'(any_index));
      end
    end
    if (!rst && known_q) begin
      if (psn_index_i == 8'(any_index) && (!pending_q || s_axis_qp_tready)) a_psn : assert (psn_o == psn_q);

      i_hit : assert (moved_hit_q == (moved_q && moved_index_q == IndexW'(index_was_q)));
      i_wrote : assert (moved_q == wrote_q);
      if (!pending_q || !busy) begin
        i_table : assert ((moved_q && moved_index_q == any_index ? moved_psn_q : psns[any_index]) == psn_q);
      end
    end
  end

endmodule

bind roce_qp roce_qp_formal #(
    .NumQp(NumQp)
) u_formal (
    .busy(state_q != IDLE),
    .*
);
