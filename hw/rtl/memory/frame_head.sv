// Keeps the first bytes of each packet on a stream of 64 bits, so that it can be judged when it has ended. Never stalls.
module frame_head #(
    parameter int unsigned Beats = 6,
    parameter int unsigned UserW = 1,

    localparam int unsigned HeadW = 64 * Beats
) (
    input logic clk,
    input logic rst,

    input  logic [     63:0] s_axis_tdata,
    input  logic [      7:0] s_axis_tkeep,
    input  logic             s_axis_tlast,
    input  logic [UserW-1:0] s_axis_tuser,
    input  logic             s_axis_tvalid,
    output logic             s_axis_tready,  // always high

    // The packet that has just ended: a pulse in the cycle behind its last beat
    output logic             ended_o,
    output logic [HeadW-1:0] head_o,    // first byte on the left; what lies behind its end counts for nothing
    output logic [     10:0] length_o,  // in bytes; 2047 for all packets of more than 2040
    output logic [UserW-1:0] user_o
);

  localparam int unsigned COUNT_W = 8;
  typedef logic [COUNT_W-1:0] count_t;

  if (Beats < 1 || Beats > 254) begin : gen_check
    $error("%m: Beats = %0d must be 1 to 254", Beats);
  end

  logic [Beats-1:0][63:0] head_q;  // the first beat is the leftmost
  count_t beat_q;  // of the packet; stays at its highest

  function automatic logic [63:0] in_wire_order(input logic [63:0] lanes);
    for (int unsigned k = 0; k < 8; k++) in_wire_order[8*(7-k)+:8] = lanes[8*k+:8];
  endfunction

  function automatic logic [3:0] kept(input logic [7:0] keep);
    kept = '0;
    for (int unsigned k = 0; k < 8; k++) kept += 4'(keep[k]);
  endfunction

  assign s_axis_tready = 1'b1;
  assign head_o = head_q;

  always_ff @(posedge clk) begin
    ended_o <= s_axis_tvalid && s_axis_tlast;
    if (s_axis_tvalid) begin
      for (int unsigned b = 0; b < Beats; b++) begin
        if (beat_q == count_t'(b)) head_q[Beats-1-b] <= in_wire_order(s_axis_tdata);
      end
      length_o <= beat_q == '1 ? '1 : {beat_q, 3'd0} + 11'(kept(s_axis_tkeep));
      user_o   <= s_axis_tuser;
      if (s_axis_tlast) beat_q <= '0;
      else if (beat_q != '1) beat_q <= beat_q + 1'b1;
    end
    if (rst) begin
      ended_o <= 1'b0;
      beat_q  <= '0;
    end
  end

endmodule
