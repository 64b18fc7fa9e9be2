// Puts VLAN tags into frames on a stream of 64 bits: 4 bytes behind the two MAC addresses, where tuser says so (IEEE 802.1Q, 9.6).
// A frame with a tag costs at most one beat more.
module vlan_insert
  import neighbour_pkg::tag_t;
  import roce_pkg::vlan_t;
  import roce_pkg::ETHERTYPE_VLAN;
(
    input logic clk,
    input logic rst,

    input  logic [63:0] s_axis_tdata,
    input  logic [ 7:0] s_axis_tkeep,
    input  logic        s_axis_tlast,
    input  tag_t        s_axis_tuser,   // the same on all beats of a frame
    input  logic        s_axis_tvalid,
    output logic        s_axis_tready,

    output logic [63:0] m_axis_tdata,
    output logic [ 7:0] m_axis_tkeep,
    output logic        m_axis_tlast,
    output logic        m_axis_tvalid,
    input  logic        m_axis_tready
);

  typedef enum logic [1:0] {
    FIRST,   // the first 8 bytes, as they are
    SECOND,  // 4 bytes of the source address, and the tag
    SHIFTED, // 4 bytes of the beat before, 4 of this one
    REST     // the last 4 bytes or less
  } state_e;

  state_e state_q;
  logic [31:0] held_q, tag_lanes;
  logic [3:0] held_keep_q;
  logic [63:0] data;
  logic [7:0] keep;
  logic last, valid, go, ready, spills;
  vlan_t tag;

  assign tag = '{tpid: ETHERTYPE_VLAN, tci: s_axis_tuser.tci};
  assign spills = s_axis_tkeep[7:4] != '0;
  assign valid = s_axis_tvalid || state_q == REST;
  assign go = valid && ready;
  assign s_axis_tready = ready && state_q != REST;

  always_comb begin
    for (int unsigned k = 0; k < 4; k++) tag_lanes[8*k+:8] = tag[8*(3-k)+:8];
    data = s_axis_tdata;
    keep = s_axis_tkeep;
    last = s_axis_tlast;
    unique case (state_q)
      FIRST: ;
      SECOND: begin
        if (s_axis_tuser.has_vlan) begin
          data = {tag_lanes, s_axis_tdata[31:0]};
          keep = '1;
          last = 1'b0;
        end
      end
      SHIFTED: begin
        if (s_axis_tuser.has_vlan) begin
          data = {s_axis_tdata[31:0], held_q};
          keep = {s_axis_tkeep[3:0], held_keep_q};
          last = s_axis_tlast && !spills;
        end
      end
      REST: begin
        data = {32'd0, held_q};
        keep = {4'd0, held_keep_q};
        last = 1'b1;
      end
    endcase
  end

  always_ff @(posedge clk) begin
    if (go) begin
      held_q <= s_axis_tdata[63:32];
      held_keep_q <= s_axis_tkeep[7:4];
      if (last) state_q <= FIRST;
      else if (state_q == FIRST) state_q <= SECOND;
      else state_q <= s_axis_tlast ? REST : SHIFTED;
    end
    if (rst) state_q <= FIRST;
  end

  axis_reg #(
      .DataW(64 + 8 + 1)
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata ({last, keep, data}),
      .s_axis_tvalid(valid),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .m_axis_tvalid,
      .m_axis_tready
  );

endmodule
