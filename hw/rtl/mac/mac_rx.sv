// Packets of a MAC, which cannot wait, to the core with a clock and a width of its own. Wiring only. A packet is passed on whole, when
// all of it is there and it is right; one that has no room is lost whole.
//
//   MAC -> [line_widen] -> axis_frame_fifo -> cdc_axis -> axis_narrow -> core
module mac_rx #(
    parameter int unsigned DataW  = 512,
    parameter int unsigned MacW   = 512,
    parameter int unsigned Depth  = 256,  // beats of the wider side
    parameter int unsigned Frames = 128,  // at most that wait

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned MacKeepW = MacW / 8
) (
    input logic mac_clk,
    input logic mac_rst,

    input logic [    MacW-1:0] s_axis_tdata,
    input logic [MacKeepW-1:0] s_axis_tkeep,
    input logic                s_axis_tlast,
    input logic                s_axis_tuser,   // with tlast: wrong FCS, or cut
    input logic                s_axis_tvalid,

    input logic clk,
    input logic rst,

    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tuser,   // with tlast: cut by a reset of the MAC's side
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready,

    // In mac_clk
    output logic bad_o,  // pulse: a packet with tuser
    output logic lost_o  // pulse: no room for a packet
);

  localparam int unsigned WIDE = DataW > MacW ? DataW : MacW;
  localparam int unsigned WIDE_KEEP = WIDE / 8;

  logic [WIDE-1:0] line_tdata, whole_tdata, core_tdata;
  logic [WIDE_KEEP-1:0] line_tkeep, whole_tkeep, core_tkeep;
  logic line_tlast, line_tuser, line_tvalid, whole_tlast, whole_tvalid, whole_tready;
  logic core_tlast, core_tuser, core_tvalid, core_tready;

  if (MacW < WIDE) begin : gen_widen
    line_widen #(
        .InW (MacW),
        .OutW(WIDE)
    ) u_widen (
        .clk          (mac_clk),
        .rst          (mac_rst),
        .s_axis_tdata,
        .s_axis_tkeep,
        .s_axis_tlast,
        .s_axis_tuser,
        .s_axis_tvalid,
        .m_axis_tdata (line_tdata),
        .m_axis_tkeep (line_tkeep),
        .m_axis_tlast (line_tlast),
        .m_axis_tuser (line_tuser),
        .m_axis_tvalid(line_tvalid)
    );
  end else begin : gen_as_it_is
    assign line_tdata = s_axis_tdata;
    assign line_tkeep = s_axis_tkeep;
    assign line_tlast = s_axis_tlast;
    assign line_tuser = s_axis_tuser;
    assign line_tvalid = s_axis_tvalid;
  end

  logic unused;

  axis_frame_fifo #(
      .DataW (WIDE),
      .Depth (Depth),
      .Frames(Frames)
  ) u_whole (
      .clk          (mac_clk),
      .rst          (mac_rst),
      .s_axis_tdata (line_tdata),
      .s_axis_tkeep (line_tkeep),
      .s_axis_tlast (line_tlast),
      .s_axis_tuser (1'b0),
      .s_axis_tvalid(line_tvalid),
      .drop_i       (line_tuser),
      .m_axis_tdata (whole_tdata),
      .m_axis_tkeep (whole_tkeep),
      .m_axis_tlast (whole_tlast),
      .m_axis_tuser (unused),
      .m_axis_tvalid(whole_tvalid),
      .m_axis_tready(whole_tready),
      .lost_o
  );

  cdc_axis #(
      .DataW(WIDE_KEEP + WIDE)
  ) u_crossing (
      .s_clk        (mac_clk),
      .s_rst        (mac_rst),
      .s_axis_tdata ({whole_tkeep, whole_tdata}),
      .s_axis_tlast (whole_tlast),
      .s_axis_tvalid(whole_tvalid),
      .s_axis_tready(whole_tready),
      .m_clk        (clk),
      .m_rst        (rst),
      .m_axis_tdata ({core_tkeep, core_tdata}),
      .m_axis_tlast (core_tlast),
      .m_axis_tuser (core_tuser),
      .m_axis_tvalid(core_tvalid),
      .m_axis_tready(core_tready)
  );

  axis_narrow #(
      .DataW(WIDE),
      .OutW (DataW)
  ) u_narrow (
      .clk,
      .rst,
      .s_axis_tdata (core_tdata),
      .s_axis_tkeep (core_tkeep),
      .s_axis_tlast (core_tlast),
      .s_axis_tuser (core_tuser),
      .s_axis_tvalid(core_tvalid),
      .s_axis_tready(core_tready),
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tuser,
      .m_axis_tvalid,
      .m_axis_tready
  );

  always_ff @(posedge mac_clk) bad_o <= line_tvalid && line_tlast && line_tuser && !mac_rst;

endmodule
